export * as ClusterExecutor from "./ClusterExecutor.ts"
export * as LocalCluster from "./LocalCluster.ts"
export * as WorkerThreads from "./WorkerThreads.ts"
