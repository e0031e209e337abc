// A proxy that forwards requests unchanged and records requests and answers, without credentials.
import { createServer } from "node:http"

const bytesOf = async (stream) => {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

const hopByHop = ["connection", "content-length", "host", "transfer-encoding"]

const headersOf = (headers) => Object.fromEntries(Object.entries(headers).filter(([name]) => !hopByHop.includes(name)))

/** A proxy for `origin`, which adds each exchange to `seen`. */
export const make = (origin, seen) =>
  createServer(async (request, response) => {
    const body = await bytesOf(request)
    const exchange = {
      method: request.method,
      path: request.url.replace(/^\/s\/[^/]+/, ""),
      body: body.toString(),
      status: 0,
      answer: ""
    }
    seen.push(exchange)
    const hungUp = new AbortController()
    response.once("close", () => hungUp.abort())
    try {
      const answer = await fetch(origin + request.url, {
        method: request.method,
        headers: headersOf(request.headers),
        signal: hungUp.signal,
        ...(body.length > 0 && { body })
      })
      exchange.status = answer.status
      response.writeHead(answer.status, headersOf(Object.fromEntries(answer.headers)))
      for await (const chunk of answer.body ?? []) {
        exchange.answer += Buffer.from(chunk).toString()
        response.write(chunk)
      }
      response.end()
    } catch {
      response.destroy()
    }
  })
