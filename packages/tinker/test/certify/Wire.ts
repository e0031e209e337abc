/** Faults between a client and a server that is right. */
import { Effect, Predicate } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"

type Body = Readonly<Record<string, unknown>>
type Request = HttpClientRequest.HttpClientRequest

interface Answer {
  readonly status: number
  readonly body: Body
}

/** Beneath `/api/v1`. */
const pathOf = ({ url }: Request) => url.split("/api/v1")[1] ?? ""

const bodyOf = ({ body }: Request): Body | undefined => {
  if (body._tag !== "Uint8Array" || !body.contentType.includes("json")) return undefined
  const value: unknown = JSON.parse(new TextDecoder().decode(body.body) || "{}")
  return Predicate.isObject(value) ? { ...value } : undefined
}

const withBody = (request: Request, body: Body) =>
  HttpClientRequest.bodyText(request, JSON.stringify(body), "application/json")

/** What the server gets of a request in JSON whose path begins so, by what it was and how often it was sent before. */
export const received =
  (path: string, change: (body: Body, before: number) => Body) => (client: HttpClient.HttpClient) => {
    const counts = new Map<string, number>()
    return HttpClient.mapRequest(client, (request) => {
      const body = pathOf(request).startsWith(path) ? bodyOf(request) : undefined
      if (body === undefined) return request
      const text = JSON.stringify(body)
      const before = counts.get(text) ?? 0
      counts.set(text, before + 1)
      return withBody(request, change(body, before))
    })
  }

/** Tells each request in JSON, by its path beneath `/api/v1`. */
export const heard = (tell: (path: string, body: Body) => void) => (client: HttpClient.HttpClient) =>
  HttpClient.mapRequest(client, (request) => {
    const body = bodyOf(request)
    if (body !== undefined) tell(pathOf(request), body)
    return request
  })

/** Each request comes with another value of the header. */
export const otherHeader = (name: string) => (client: HttpClient.HttpClient) => {
  let count = 0
  return HttpClient.mapRequest(
    client,
    (request) => name in request.headers ? HttpClientRequest.setHeader(request, name, `${count++}`) : request
  )
}

const decoded = (response: HttpClientResponse.HttpClientResponse) =>
  Effect.map(response.text, (text): Answer => {
    const value: unknown = text === "" ? {} : JSON.parse(text)
    return { status: response.status, body: Predicate.isObject(value) ? { ...value } : {} }
  })

const webResponse = ({ body, status }: Answer) =>
  status === 204
    ? new Response(null, { status })
    : new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } })

/** What the client gets for a request whose path begins so, if it is JSON, by what it asked and how often before. */
export const answered = (path: string, change: (answer: Answer, asked: Body, before: number) => Answer) =>
(
  client: HttpClient.HttpClient
) => {
  const counts = new Map<string, number>()
  return HttpClient.transform(client, (effect, request) => {
    if (!pathOf(request).startsWith(path)) return effect
    return Effect.flatMap(effect, (response) => {
      if (response.headers["content-type"]?.includes("json") !== true) return Effect.succeed(response)
      const asked = bodyOf(request) ?? {}
      const text = JSON.stringify(asked)
      const before = counts.get(text) ?? 0
      counts.set(text, before + 1)
      return Effect.map(
        decoded(response),
        (answer) => HttpClientResponse.fromWeb(request, webResponse(change(answer, asked, before)))
      )
    })
  })
}

/** Answers itself, and the server never knows. */
export const swallowed = (method: string, path: string, status: number) => (client: HttpClient.HttpClient) =>
  HttpClient.transform(client, (effect, request) =>
    request.method === method && pathOf(request).includes(path)
      ? Effect.succeed(HttpClientResponse.fromWeb(request, webResponse({ status, body: {} })))
      : effect)
