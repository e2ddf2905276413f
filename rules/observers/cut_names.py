"""Names of functions of the Linux kernel that `ps -l` cuts to six characters in its column WCHAN.

A cut name stands for a whole one where all that signatures know and that begin with it wait for the same: `jbd2_l` is
`jbd2_log_wait_commit`. Source: ps(1), STANDARD FORMAT SPECIFIERS, wchan; procps output.c (width 6).
"""

from __future__ import annotations

from collections.abc import Mapping

CUT = 6
"""Width of the column."""

_WAITS = """
jbd2_log_wait_commit wait_transaction_locked rpc_wait_bit_killable nfs_wait_bit_killable io_schedule blkdev_issue_flush
xlog_wait xfs_log_force_lsn balance_dirty_pages congestion_wait flock_lock_file_wait request_wait_answer txg_wait_synced
zio_wait ocfs2_wait_for_mask gfs2_glock_wait ldlm_completion_ast ceph_mdsc_do_request sync_inodes_sb wb_wait_for_completion
get_request_wait raid5_get_active_stripe pipe_wait sleep_on_page lookup_slow call_rwsem_down_write_failed
"""
_RESTS = """
poll_schedule_timeout ep_poll hrtimer_nanosleep inet_csk_accept do_sigtimedwait n_tty_read worker_thread rescuer_thread
smpboot_thread_fn rcu_gp_kthread do_select sigsuspend skb_wait_for_more_packets
"""

WHOLE: Mapping[str, str] = {name[:CUT]: name for name in (*_WAITS.split(), *_RESTS.split())}
"""Whole names by their first six characters."""


def uncut(wchan: str) -> str:
    """Return the full name of a function whose name a listing cut; any other name unchanged.

    >>> uncut("jbd2_l"), uncut("rpc_wa"), uncut("rpc_wait_bit_killable"), uncut("futex_")
    ('jbd2_log_wait_commit', 'rpc_wait_bit_killable', 'rpc_wait_bit_killable', 'futex_')
    """
    return WHOLE.get(wchan, wchan) if len(wchan) == CUT else wchan
