/** Rolls out groups in worker threads or on a cluster, and keeps runs and checkpoints in a PostgreSQL database. Stable. */

/** Rolls out groups on the runners of an effect/cluster. */
export * as ClusterExecutor from "./ClusterExecutor.ts"
/** A run's checkpoints in a PostgreSQL database. Checkpoints that this machine uses are copied to a local folder. */
export * as CheckpointDatabase from "./CheckpointDatabase.ts"
/** Heartbeats of the processes that send groups, so workers notice a lost process. */
export * as Drivers from "./Drivers.ts"
/** A cluster of processes on one machine. They communicate over sockets, and a SQLite file assigns the work. */
export * as LocalCluster from "./LocalCluster.ts"
/** The error of a process that cannot join a cluster, and its reasons. */
export * as JoinError from "./JoinError.ts"
/** A cluster of processes on any number of machines. They communicate over HTTP, and a PostgreSQL database assigns the work. */
export * as PostgresCluster from "./PostgresCluster.ts"
/** A run in a PostgreSQL database. Processes on several machines can read it at the same time; one process at a time writes it. */
export * as RunDatabase from "./RunDatabase.ts"
/** Drives a run on a cluster: one runner drives it, and another resumes it if that runner is lost. */
export * as RunDriver from "./RunDriver.ts"
/** Write access to a run in a database. The last process that took the run over has it; earlier writers are refused. */
export * as RunFence from "./RunFence.ts"
/** Rolls out groups in worker threads of this process. */
export * as WorkerThreads from "./WorkerThreads.ts"
