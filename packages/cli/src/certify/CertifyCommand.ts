/** `effect-rl certify URL`: checks that a server implements the Tinker API as clients expect. */
import { CredentialCommand, TinkerHttp } from "@effect-rl/tinker"
import { Badge, Certificate, Certification } from "@effect-rl/tinker/certify"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as GivenFlag from "../GivenFlag.ts"
import * as ModelTokenizers from "../ModelTokenizers.ts"
import { Output } from "../terminal/Output.ts"
import { RunLog } from "../terminal/RunLog.ts"
import * as Untrusted from "../terminal/Untrusted.ts"
import * as RunFlags from "../train/RunFlags.ts"

/** The server's responses differ from what clients expect. */
export class NotCertified extends Schema.TaggedError<NotCertified>()("NotCertified", {
  server: Schema.String,
  failed: Schema.Int
}) {
  override get message() {
    return `${this.server} failed ${this.failed} ${this.failed === 1 ? "check" : "checks"}`
  }
}

const flags = {
  url: Argument.String("url").pipe(
    Argument.withDescription("Address of the server, up to but not including /api/v1; its key is TINKER_API_KEY")
  ),
  model: Flag.String("model").pipe(
    Flag.withMetavar("name"),
    Flag.withDescription("Model to try the server on (default: the first that it lists)"),
    Flag.optional
  ),
  server: RunFlags.flags.server.pipe(Flag.withDescription("What kind of server it is (default: detected)")),
  badge: Flag.String("badge").pipe(
    Flag.withMetavar("file"),
    Flag.withDescription("SVG file to write with the number of checks that passed"),
    Flag.optional
  ),
  json: RunFlags.flags.json
}

interface Given {
  readonly url: string
  readonly model: Option.Option<string>
  readonly server: Option.Option<TinkerHttp.Server>
  readonly badge: Option.Option<string>
  readonly json: boolean
}

const widest = Math.max(...Certificate.Theme.literals.map((theme) => theme.length))

const tell = Effect.fnUntraced(function*(result: Certificate.Result) {
  const { check, detail, outcome, theme, why } = result
  const { lines, record, style } = yield* Output
  const mark = { passed: style.good("passed"), absent: style.warn("absent"), failed: style.bad("failed") }
  yield* lines([
    `${mark[outcome]}  ${theme.padEnd(widest)}  ${check}`,
    ...(detail === "" ? [] : [`        ${Untrusted.show(detail)}`]),
    ...(outcome === "failed" ? [`        ${why}`] : [])
  ])
  yield* record({ type: "check", ...result })
})

const certifyServer = Effect.fnUntraced(function*({ badge, model, server, url }: Given) {
  const fs = yield* FileSystem.FileSystem
  const { lines, record } = yield* Output
  const options = yield* TinkerHttp.options
  const certificate = yield* Certification.run(
    {
      ...options,
      baseUrl: url,
      ...GivenFlag.options(model, (model) => ({ model })),
      ...GivenFlag.options(server, (server) => ({ server }))
    },
    tell
  )
  const counts = Certificate.counts(certificate)
  yield* lines([
    "",
    `${url} with ${certificate.model}: ${counts.passed} passed, ${counts.absent} absent, ${counts.failed} failed`
  ])
  yield* record({ type: "certificate", server: url, model: certificate.model, ...counts })
  if (Option.isSome(badge)) yield* fs.writeFileString(badge.value, Badge.svg(certificate))
  if (counts.failed > 0) return yield* new NotCertified({ server: url, failed: counts.failed })
})

export const certify = Command.make(
  "certify",
  flags,
  (flags) =>
    Effect.provide(
      certifyServer(flags),
      [
        Layer.provide(Output.layer(flags), RunLog.layerNone),
        NodeHttpClient.layerUndici,
        CredentialCommand.layer,
        ModelTokenizers.layer
      ]
    )
).pipe(Command.withExamples([
  { command: "effect-rl certify http://127.0.0.1:8000", description: "A server of this machine" }
]))
