"""Incident of priority inversion: an urgent thread waits for a lock whose holder a third thread keeps off the
processor.
"""

from __future__ import annotations

import subprocess
import time

from lab.incident import Incident
from lab.scene import Scene, needs

SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock;
static double spins;
static double now(clockid_t of) { struct timespec t; clock_gettime(of, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static void must(int level) { struct sched_param p = {level}; pthread_setschedparam(pthread_self(), SCHED_FIFO, &p); }
static void *low(void *a) {
    pthread_mutex_lock(&lock);
    double until = now(CLOCK_THREAD_CPUTIME_ID) + 0.4;
    while (now(CLOCK_THREAD_CPUTIME_ID) < until) for (volatile long n = 0; n < 2000000; n++) ;
    pthread_mutex_unlock(&lock);
    return a;
}
static void *middle(void *a) {
    must(10); usleep(150000);
    double until = now(CLOCK_MONOTONIC) + spins;
    while (now(CLOCK_MONOTONIC) < until) ;
    return a;
}
static void *high(void *a) {
    must(20); usleep(100000);
    pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock);
    return a;
}
int main(int n, char **v) {
    spins = atof(v[1]);
    pthread_mutexattr_t how; pthread_mutexattr_init(&how);
    if (n > 2) pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&lock, &how);
    cpu_set_t one; CPU_ZERO(&one); CPU_SET(0, &one); sched_setaffinity(0, sizeof one, &one);
    pthread_t t[3]; void *(*of[3])(void *) = {low, middle, high};
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, of[i], 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
}
"""


def inversion(stage: Scene) -> None:
    needs("gcc", "chrt", "pidstat")
    (stage.work / "control.c").write_text(SOURCE, encoding="ascii")
    program = str(stage.work / "control")
    subprocess.run(
        ["gcc", "-O1", "-pthread", "-o", program, f"{program}.c"], check=True, capture_output=True, timeout=50
    )
    stage.watch("pidstat.txt", ["pidstat", "-u", "-t", "-C", "control", "1", "4"])
    time.sleep(0.8)
    stage.traced("strace.txt", [program, "2.5", *([] if stage.bad else ["inherit"])])
    stage.finish()


INCIDENTS = (
    Incident("priority-inversion", "A real-time thread waits for a lock; its holder has no priority and is kept from the processor.", inversion,
             {"layer": "client_app", "hypothesis": "H-CLIENT", "rules": {"KRN-005": {}}, "also": ["client_host", "os_kernel"]},
             {"symptom": {"text": "the control loop", "unit": "s", "bad": 2.5, "normal": 0.4}}, {"symptom": {"text": "the control loop is late"}}),
)  # fmt: skip
