/** Reads and writes files: run directories, checkpoints, datasets, tokenizers and the Hub's cache. Stable. */

/** Writes files and folders completely or not at all. */
export * as AtomicFile from "./file/AtomicFile.ts"
/** Error messages for file system failures, with advice. */
export * as FileFailure from "./file/FileFailure.ts"
/** Gives a folder, such as a run directory or a server's checkpoints, one owner at a time across processes. */
export * as FileLock from "./file/FileLock.ts"

/** Byte-level vocabularies, whose entries are bytes written in GPT-2's alphabet. */
export * as ByteLevel from "./tokenizer/ByteLevel.ts"
/** Loads tokenizers by a Hub model's name or from a folder. */
export * as HuggingFace from "./tokenizer/HuggingFace.ts"
/** Tokenizers in Hugging Face format: `tokenizer.json` with an optional `tokenizer_config.json`. */
export * as HuggingFaceTokenizer from "./tokenizer/HuggingFaceTokenizer.ts"
/** Decodes tokens to text as they arrive. */
export * as IncrementalDecoder from "./tokenizer/IncrementalDecoder.ts"
/** Vocabularies in tiktoken format, such as those of Kimi models: one line per token with its bytes in base64 and its rank. */
export * as RankFile from "./tokenizer/RankFile.ts"

/** Downloads files of Hugging Face repositories into the cache that Hugging Face's own libraries use. */
export * as Hub from "./hub/Hub.ts"
/** Why a file of a Hub repository could not be read. */
export * as HubError from "./hub/HubError.ts"
/** A Hub repository at a revision. */
export * as Repository from "./hub/Repository.ts"

/** Reads dataset rows from comma-separated values (RFC 4180). */
export * as Csv from "./dataset/Csv.ts"
/** Reads dataset rows from JSON Lines. */
export * as Jsonl from "./dataset/Jsonl.ts"
/** Reads dataset rows from Parquet files. */
export * as Parquet from "./dataset/Parquet.ts"
/** A dataset file or one of its rows cannot be read. */
export * as RowError from "./dataset/RowError.ts"
/** Reads dataset rows from a file of any supported format. */
export * as Rows from "./dataset/Rows.ts"

/** Stores a backend's checkpoints as folders under one root. */
export * as CheckpointStore from "./checkpoint/CheckpointStore.ts"

/** Encodes and decodes the lines in which a run's records are stored, in a file or a database. */
export * as RecordLines from "./run/RecordLines.ts"
/** Stores a run in a directory. */
export * as RunDirectory from "./run/RunDirectory.ts"
