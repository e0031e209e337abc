export * as AtomicFile from "./file/AtomicFile.ts"
export * as FileFailure from "./file/FileFailure.ts"
export * as FileLock from "./file/FileLock.ts"

export * as ByteLevel from "./tokenizer/ByteLevel.ts"
export * as HuggingFace from "./tokenizer/HuggingFace.ts"
export * as HuggingFaceTokenizer from "./tokenizer/HuggingFaceTokenizer.ts"
export * as IncrementalDecoder from "./tokenizer/IncrementalDecoder.ts"
export * as RankFile from "./tokenizer/RankFile.ts"

export * as Hub from "./hub/Hub.ts"
export * as HubError from "./hub/HubError.ts"
export * as Repository from "./hub/Repository.ts"

export * as Csv from "./dataset/Csv.ts"
export * as Jsonl from "./dataset/Jsonl.ts"
export * as Parquet from "./dataset/Parquet.ts"
export * as RowError from "./dataset/RowError.ts"
export * as Rows from "./dataset/Rows.ts"

export * as RunDirectory from "./run/RunDirectory.ts"
