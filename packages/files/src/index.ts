export * as ByteLevel from "./tokenizer/ByteLevel.ts"
export * as HuggingFaceTokenizer from "./tokenizer/HuggingFaceTokenizer.ts"
