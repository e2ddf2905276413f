"""Addresses of members, accounts and activity."""

from __future__ import annotations

from django.urls import path

from incidents.pages.addresses import ROOM
from incidents.pages.people import access_tokens, accounts, activity, devices, views
from incidents.pages.shell import open_page, page

urlpatterns = [
    path("join/<str:token>/", open_page(views.join), name="join"),
    path("first/<str:token>/", open_page(accounts.first_admin), name="first-admin"),
    path("account/devices/", page(devices.devices), name="devices"),
    path("account/tokens/", page(access_tokens.tokens), name="access-tokens"),
    path("account/close/", page(accounts.close), name="account-close"),
    path("healthz", accounts.healthz, name="healthz"),
    path(ROOM + "members/", page(views.members), name="members"),
    path(ROOM + "members/lead/", page(views.handover), name="handover"),
    path(ROOM + "invite/", page(views.invite), name="invite"),
    path(ROOM + "activity/", page(activity.activity), name="activity"),
    path(ROOM + "activity/verify/", page(activity.verify), name="activity-verify"),
]
