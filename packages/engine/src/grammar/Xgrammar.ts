/**
 * Loads `@mlc-ai/web-xgrammar`, which compiles grammars to token masks, and declares types for the exports that the engine uses.
 * Node mistakes the package's UMD bundle for an ES module, so the bundle is read and evaluated here. A grammar that the library cannot
 * parse aborts its WebAssembly instance and every object made from it, so a separate instance parses each grammar before a thread gets it.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

interface Disposable {
  readonly dispose: () => void
}

export interface TokenizerInfo extends Disposable {
  readonly getVocabSize: () => number
}

export interface CompiledGrammar extends Disposable {
  readonly grammar: () => Grammar
}

export interface Grammar extends Disposable {
  /** The rules as text; the first rule is `root`. */
  readonly toString: () => string
}

export interface GrammarCompiler extends Disposable {
  readonly compileGrammar: (text: string, rootRule: string) => Promise<CompiledGrammar>
}

/** A vector in WebAssembly memory. */
interface Words {
  readonly get: (index: number) => number
  readonly delete: () => void
}

/** The state of one sample in a grammar. */
export interface GrammarMatcher extends Disposable {
  readonly acceptToken: (token: number) => boolean
  /** The function behind the asynchronous `getNextTokenBitmask`, for threads that cannot wait for an event loop between steps. */
  readonly handle: { readonly GetNextTokenBitmask: (vocabularySize: number) => Words }
}

/** The library's exports. */
export interface Xgrammar {
  readonly Grammar: {
    readonly fromJSONSchema: (
      schema: string,
      anyWhitespace: boolean,
      indent: number,
      separators: readonly [comma: string, colon: string],
      strictMode: boolean
    ) => Promise<Grammar>
  }
  readonly TokenizerInfo: {
    readonly createTokenizerInfo: (
      vocabulary: ReadonlyArray<string>,
      type: "byte_level",
      prependSpace: boolean,
      size: number,
      stops: ReadonlyArray<number>
    ) => Promise<TokenizerInfo>
  }
  readonly GrammarCompiler: {
    readonly createGrammarCompiler: (info: TokenizerInfo, isCached: boolean) => Promise<GrammarCompiler>
  }
  readonly GrammarMatcher: {
    readonly createGrammarMatcher: (grammar: CompiledGrammar) => Promise<GrammarMatcher>
  }
}

const isWhole = (library: Partial<Xgrammar>): library is Xgrammar =>
  library.Grammar !== undefined && library.TokenizerInfo !== undefined && library.GrammarCompiler !== undefined &&
  library.GrammarMatcher !== undefined

type Evaluate = (library: object, console: object) => void

let evaluator: Evaluate | undefined

/**
 * Reads the library's code. `process` is hidden from the code, so it does not detect Node and import Node modules or read files; its
 * WebAssembly is embedded.
 */
const readLibrary = (): Evaluate => {
  const file = createRequire(import.meta.url).resolve("@mlc-ai/web-xgrammar")
  const body = new Function(
    "exports",
    "module",
    "document",
    "location",
    "console",
    "process",
    readFileSync(file, "utf8")
  )
  return (library, console) => void body(library, {}, undefined, { href: "about:blank" }, console, undefined)
}

/** Creates a library instance that prints to `print` instead of the console. */
export const make = (print: (line: string) => void): Xgrammar => {
  const library: Partial<Xgrammar> = {}
  evaluator ??= readLibrary()
  evaluator(library, { log: print, warn: print, error: print })
  if (!isWhole(library)) throw new Error("@mlc-ai/web-xgrammar lacks an export that the engine uses")
  return library
}
