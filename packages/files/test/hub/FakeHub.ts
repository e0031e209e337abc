/** The Hub's HTTP responses for a repository in memory. */
import { createHash } from "node:crypto"

export const commit = "0123456789abcdef0123456789abcdef01234567"

export interface FakeFile {
  readonly content: string | Uint8Array<ArrayBuffer>
  /** Whether the file is stored as a large file, identified by the hash of its content. */
  readonly isLarge?: boolean
}

export interface FakeHub {
  readonly fetch: typeof globalThis.fetch
  /** The method, path and token of each request, in order. */
  readonly requests: Array<string>
  /** Responses to send before the regular ones; `"unreachable"` simulates a network failure. */
  readonly faults: Array<((path: string) => Response) | "unreachable">
  /** Replaces the content of a text file in responses. */
  sent: ((content: string) => string | ReadableStream<Uint8Array>) | undefined
}

const gitHash = (content: FakeFile["content"]) =>
  createHash("sha1").update(`blob ${Buffer.byteLength(content)}\0`).update(content).digest("hex")

const pathInfo = (path: string, { content, isLarge }: FakeFile) => {
  const size = Buffer.byteLength(content)
  const lfs = { oid: createHash("sha256").update(content).digest("hex"), size, pointerSize: 130 }
  return { type: "file", path, size, oid: gitHash(content), ...(isLarge === true ? { lfs } : {}) }
}

const describedFile = (files: Record<string, FakeFile>, request: RequestInit | undefined) => {
  const { paths } = JSON.parse(String(request?.body))
  return paths.flatMap((path: string) => {
    const file = files[path]
    return file === undefined ? [] : [pathInfo(path, file)]
  })
}

export const make = (repository: string, files: Record<string, FakeFile>): FakeHub => {
  const api = repository.startsWith("datasets/") ? `/api/${repository}` : `/api/models/${repository}`
  const answer = (url: URL, request: RequestInit | undefined): Response => {
    if (url.pathname.startsWith(`${api}/revision/`)) return Response.json({ sha: commit, id: repository })
    if (url.pathname === `${api}/paths-info/${commit}`) return Response.json(describedFile(files, request))
    const file = files[url.pathname.slice(`/${repository}/resolve/${commit}/`.length)]
    if (file === undefined) return new Response(null, { status: 404, headers: { "X-Error-Code": "EntryNotFound" } })
    if (new Headers(request?.headers).has("range")) {
      const headers = { ETag: `"tag"`, "Content-Range": `bytes 0-0/${Buffer.byteLength(file.content)}` }
      return new Response(file.content.slice(0, 1), { status: 206, headers })
    }
    const { content } = file
    return new Response(typeof content === "string" ? hub.sent?.(content) ?? content : content)
  }
  const hub: FakeHub = {
    requests: [],
    faults: [],
    sent: undefined,
    fetch: async (input, request) => {
      const url = new URL(String(input))
      const token = new Headers(request?.headers).get("authorization") ?? "no token"
      hub.requests.push(`${request?.method ?? "GET"} ${url.pathname} ${token}`)
      const fault = hub.faults.shift()
      if (fault === "unreachable") throw new TypeError("fetch failed")
      return fault === undefined ? answer(url, request) : fault(url.pathname)
    }
  }
  return hub
}

export const status = (code: number) => () => Response.json({ error: "as the hub says it" }, { status: code })
