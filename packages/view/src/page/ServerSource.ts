/** Reads runs from the page's server. */
import type { Entry } from "../story/Entry.ts"
import type { Source } from "./Source.ts"

/** Advice for a page whose server has stopped, for example because `train --view` stops its server with its run. */
export const gone =
  "The server of this page does not answer: what is shown may be old. To see runs again: effect-rl view FOLDER"

const query = (path: string, fields: Readonly<Record<string, string>>) => `/api/${path}?${new URLSearchParams(fields)}`

const answerOf = (url: string, signal: AbortSignal | undefined) =>
  fetch(url, signal === undefined ? {} : { signal }).catch((error: unknown) => {
    throw signal?.aborted === true ? error : new Error(gone)
  })

/** Milliseconds to wait for a quick response. A server that is starting or stopping may accept a request and never answer it. */
const longestWait = 20_000

/** Fetches a URL and fails if the response does not begin in time. Its body may take longer. */
const quickly = (url: string) => {
  const ending = new AbortController()
  const timer = setTimeout(() => ending.abort(new Error(gone)), longestWait)
  return answerOf(url, ending.signal).then(told).finally(() => clearTimeout(timer))
}

const get = async (url: string, signal?: AbortSignal) => told(await answerOf(url, signal))

const told = async (response: Response) => {
  if (response.ok) return response
  // A server that is starting or stopping responds with 503 and no reason.
  if (response.status === 503) throw new Error(gone)
  const { error }: { readonly error?: string } = await response.json()
  throw new Error(error ?? `the server answered ${response.status}`)
}

interface Records {
  readonly isWritten: boolean
  readonly entries: ReadonlyArray<Entry>
}

const readLines = async (body: ReadableStream<Uint8Array>, onLine: (line: string) => void) => {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ""
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + decoder.decode(part.value, { stream: true })).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) onLine(line)
  }
}

/** Milliseconds before reconnecting, as the server requests from refused pages. A browser does not reconnect by itself after a refusal. */
const untilNextTry = 5000

export const source: Source = {
  isLive: true,
  runs: async () => (await quickly("/api/runs")).json(),
  follow: async (run, { onConnected, onEntries, onWritten }) => {
    const { entries, isWritten }: Records = await (await quickly(query("records", { run }))).json()
    onWritten(isWritten)
    onEntries(entries)
    let last = entries.at(-1)?.sequence ?? -1
    let later: ReturnType<typeof setTimeout> | undefined
    const connect = () => {
      const events = new EventSource(query("events", { run, after: String(last) }))
      const connectLater = () => {
        later = setTimeout(() => opened = connect(), untilNextTry)
      }
      /** Gives up a connection on which no response begins: a server that is stopping may accept a request and never answer it. */
      const expectOpen = (milliseconds: number) => {
        later = setTimeout(() => {
          events.close()
          onConnected(gone)
          connectLater()
        }, milliseconds)
      }
      const report = (reason: string) => {
        if (opened.readyState !== EventSource.OPEN) onConnected(reason)
      }
      expectOpen(longestWait)
      events.addEventListener("message", ({ data }) => {
        const entries: ReadonlyArray<Entry> = JSON.parse(data)
        last = entries.at(-1)?.sequence ?? last
        onEntries(entries)
      })
      events.addEventListener("written", ({ data }) => onWritten(data === "true"))
      events.addEventListener("open", () => {
        clearTimeout(later)
        onConnected(undefined)
      })
      events.addEventListener("error", () => {
        clearTimeout(later)
        // An error has no reason: another request tells whether the server or the run is gone.
        quickly(query("log", { run })).then(
          () => report(gone),
          (error: unknown) => report(error instanceof Error ? error.message : gone)
        )
        if (events.readyState === EventSource.CLOSED) connectLater()
        else expectOpen(untilNextTry + longestWait)
      })
      return events
    }
    let opened = connect()
    return () => {
      clearTimeout(later)
      opened.close()
    }
  },
  transcript: async ({ loss, run, sequence }) =>
    (await quickly(query("transcript", { run, sequence: String(sequence), ...(loss === undefined ? {} : { loss }) })))
      .json(),
  findings: async (run) => (await get(query("findings", { run }))).json(),
  measures: async (run) => (await get(query("measures", { run }))).json(),
  metrics: async (run, axis) => (await get(query("metrics", { run, axis }))).json(),
  stages: async (run) => (await get(query("stages", { run }))).json(),
  log: async (run) => (await get(query("log", { run }))).json(),
  search: (run, text, onFound, onFailure) => {
    const ending = new AbortController()
    get(query("search", { run, text }), ending.signal)
      .then(({ body }) => body === null ? undefined : readLines(body, (line) => onFound(JSON.parse(line))))
      .catch((error: unknown) => {
        if (!ending.signal.aborted) onFailure(error)
      })
    return () => ending.abort()
  },
  compare: async (run, others) => {
    const fields = new URLSearchParams([["run", run], ...others.map((other) => ["others", other])])
    return (await get(`/api/compare?${fields}`)).json()
  },
  regrade: async (run, iteration, rule) =>
    (await get(query("regrade", { run, iteration: String(iteration), rule }))).json()
}
