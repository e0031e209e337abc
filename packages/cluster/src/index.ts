/** Executors of rollouts beside the driver's own fiber: threads and the runners of a cluster; runs in their database. Stable. */

/** Groups rolled out by the runners of an effect/cluster. */
export * as ClusterExecutor from "./ClusterExecutor.ts"
/** Checkpoints of a run in a PostgreSQL database, with copies of those that are used in a folder of this machine. */
export * as CheckpointDatabase from "./CheckpointDatabase.ts"
/** The processes that send groups, of which workers notice that one was lost. */
export * as Drivers from "./Drivers.ts"
/** A cluster of processes on this machine, connected by sockets and a SQLite file that assigns the work. */
export * as LocalCluster from "./LocalCluster.ts"
/** Failures of a process that joins a cluster. */
export * as JoinError from "./JoinError.ts"
/** A cluster of processes on any number of machines, connected by HTTP and by a PostgreSQL database that assigns the work. */
export * as PostgresCluster from "./PostgresCluster.ts"
/** A run in a PostgreSQL database, which processes of several machines write one after the other and read at the same time. */
export * as RunDatabase from "./RunDatabase.ts"
/** The driver of a run: one of the cluster's runners, and another where that one is lost. */
export * as RunDriver from "./RunDriver.ts"
/** The right to write a run that lies in a database: whoever takes it last has it, and everybody before is refused. */
export * as RunFence from "./RunFence.ts"
/** Groups rolled out by threads of this process. */
export * as WorkerThreads from "./WorkerThreads.ts"
