"""Long work: jobs in chunks that survive a crash, a queue that browsers share, and workers that run it."""

from engine.jobs.bar import Bar
from engine.jobs.estimate import TimeEstimate
from engine.jobs.executor import (
    STORED_FRACTION,
    ChunkWork,
    Executor,
    Ledger,
    LocalExecutor,
    Took,
    stored_part,
    time_left,
)
from engine.jobs.kinds import KINDS, Context, Handed, JobKind, Output, Progress, Shares, Watch, job_digest
from engine.jobs.queue import Job, JobLost, JobQueue
from engine.jobs.run import run_job, stored_chunks
from engine.jobs.workers import Workers, ensure_worker

__all__ = [
    "KINDS", "STORED_FRACTION", "Bar", "ChunkWork", "Context", "TimeEstimate", "Executor", "Handed", "Job", "JobKind",
    "JobLost", "JobQueue", "Ledger", "LocalExecutor", "Output", "Progress", "Shares", "Took", "Watch", "Workers",
    "ensure_worker", "job_digest", "run_job", "stored_chunks", "stored_part", "time_left",
]
