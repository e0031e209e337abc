/**
 * The library that turns grammars into masks of tokens, `@mlc-ai/web-xgrammar`, as far as it is used here.
 *
 * Its package names a UMD bundle that Node takes for an ES module, so that it is read and evaluated here. A grammar that it cannot read aborts
 * its WebAssembly, and with it everything that was made from it: grammars are read by an instance of their own before a thread is sent them.
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
  /** Its rules as text, the first of which is called `root`. */
  readonly toString: () => string
}

export interface GrammarCompiler extends Disposable {
  readonly compileGrammar: (text: string, rootRule: string) => Promise<CompiledGrammar>
}

/** A vector of the WebAssembly's. */
interface Words {
  readonly get: (index: number) => number
  readonly delete: () => void
}

/** How far one text has come in a grammar. */
export interface GrammarMatcher extends Disposable {
  readonly acceptToken: (token: number) => boolean
  /** What its asynchronous `getNextTokenBitmask` calls, for a thread that has no turns of an event loop between its steps. */
  readonly handle: { readonly GetNextTokenBitmask: (vocabularySize: number) => Words }
}

/** The exports of the library. */
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

/** Without `process` it finds no Node, of which it would import modules and read files: its WebAssembly is in the text. */
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

/** A new instance of the library, which prints to `print` in place of the console. */
export const make = (print: (line: string) => void): Xgrammar => {
  const library: Partial<Xgrammar> = {}
  evaluator ??= readLibrary()
  evaluator(library, { log: print, warn: print, error: print })
  if (!isWhole(library)) throw new Error("@mlc-ai/web-xgrammar lacks an export that is used here")
  return library
}
