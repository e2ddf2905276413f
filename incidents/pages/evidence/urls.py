"""Addresses of the evidence page."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.evidence import questions, receiving, views
from incidents.pages.shell import page

urlpatterns = [
    path(ROOM + "evidence/", page(views.evidence), name="evidence"),
    path(ROOM + "evidence/add/", page(receiving.add), name="evidence-add"),
    path(ROOM + "evidence/collector/", page(receiving.collector_script), name="collector"),
    path(ROOM + "evidence/<int:number>/original", page(receiving.original), name="original"),
    path(ROOM + "evidence/<int:number>/correct/", page(receiving.correct), name="correct"),
    path(ROOM + "evidence/<int:number>/take/<int:position>/", page(receiving.take_in), name="take-in"),
    path(ROOM + "evidence/questions/", page(questions.questions), name="questions"),
    path(ROOM + "evidence/<int:number>/questions/", page(questions.question), name="question"),
    path(ROOM + "evidence/<int:number>/kind/", page(questions.kind), name="kind"),
    path(ROOM + "evidence/<int:number>/borders/", page(receiving.borders), name="borders"),
    path(ROOM + "evidence/<int:number>/masks/", page(receiving.masks), name="masks"),
    path(ROOM + "evidence/<int:number>/stop/", page(receiving.stop), name="stop"),
    path(ROOM + "evidence/<int:number>/retry/", page(receiving.retry), name="retry"),
    path(ROOM + "evidence/<int:number>/purge/", page(receiving.purge), name="purge"),
]
