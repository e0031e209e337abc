import { RunStore } from "@effect-rl/core"
import { Diagnosis, Story } from "@effect-rl/core/records"
import { Tokenizer } from "@effect-rl/core/renderers"
import { RunDirectory } from "@effect-rl/files"
import { type Entry, Runs } from "@effect-rl/view"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, FileSystem, Layer, Schedule, Scope } from "effect"
import { TestClock } from "effect/testing"
import { request } from "node:http"
import { setImmediate } from "node:timers/promises"
import * as Recorded from "../Recorded.ts"
import * as CountedFiles from "./CountedFiles.ts"
import * as Served from "./Served.ts"

const about = ({ run, url }: Served.Served, path: string, more = "") =>
  `${url}/api/${path}?run=${encodeURIComponent(run)}${more}`

describe("ViewServer", () => {
  it.effect("lists the runs of a folder", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const [line, ...others] = JSON.parse((yield* Served.get(`${served.url}/api/runs`)).text)
      assert.deepInclude(line, {
        run: served.run,
        program: "rl",
        model: "test/words",
        state: "completed",
        status: "ended",
        done: 2,
        iterations: 3,
        reward: 0.875,
        score: 0.6,
        tokens: 60
      })
      assert.deepStrictEqual(others, [])
    }))

  const paid = Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped()
    yield* Recorded.writePaid(`${folder}/paid`)
    return { folder, run: `${folder}/paid` }
  }).pipe(Effect.provide(NodeServices.layer))

  it.effect("calls no run good in the list before its audit, and afterwards gives the verdict of the run's page", () =>
    Effect.gen(function*() {
      const { folder, run } = yield* paid
      const url = yield* Served.serve(folder)
      const listed = Effect.map(
        Served.get(`${url}/api/runs`),
        ({ text }): Entry.RunLine["verdict"] => JSON.parse(text)[0].verdict
      )
      assert.deepInclude(yield* listed, { kind: "solved", level: "none", isAudited: false })
      const audited = yield* Effect.repeat(listed, { until: ({ isAudited }) => isAudited })
      assert.deepInclude(audited, { kind: "suspect", level: "bad" })
      const [records, findings] = yield* Effect.all(
        ["records", "findings"].map((path) =>
          Effect.map(Served.get(about({ folder, run, url }, path)), ({ text }) => JSON.parse(text))
        )
      )
      const story = Story.fromRecords(records.entries)
      assert.strictEqual(audited.sentence, Diagnosis.of(story, { isWritten: false, ...findings }).sentence)
    }))

  it.effect("gives audited verdicts to the command that lists runs", () =>
    Effect.gen(function*() {
      const { folder } = yield* paid
      const [line] = yield* Effect.provide(Runs.list([folder]), NodeServices.layer)
      assert.deepNestedInclude(line, { "verdict.kind": "suspect", "verdict.level": "bad", "verdict.isAudited": true })
    }))

  it.effect("compares runs with the command's verdict, and says why runs of other tasks have no scores", () =>
    Effect.gen(function*() {
      const { folder, run, url } = yield* Served.start
      const write = (name: string, options: Parameters<typeof Recorded.write>[1]) =>
        Effect.provide(Recorded.write(`${folder}/${name}`, options), NodeServices.layer)
      yield* write("second", { identity: { learning_rate: 1e-3 }, evaluated: [1, 1, 1, 1, 1] })
      yield* write("third", { identity: { loss: "cispo" }, evaluated: [] })
      const others = ["second", "third"].map((name) => `&others=${encodeURIComponent(`${folder}/${name}`)}`).join("")
      const { refusals, scores } = JSON.parse(
        (yield* Served.get(`${url}/api/compare?run=${encodeURIComponent(run)}${others}`)).text
      )
      assert.strictEqual(scores.length, 1)
      assert.deepInclude(scores[0], {
        method: 1,
        evaluator: "held_out",
        verdict: { better: null, text: "no clear difference: the interval contains 0" },
        about: "about these runs alone",
        left: { mean: 0.6, standing: "after 0 iterations, 0 tokens, 0 s" },
        right: { mean: 1, standing: "after 0 iterations, 0 tokens, 0 s" },
        decidedAfter: null
      })
      assert.deepStrictEqual(refusals, [
        "first and third cannot be compared: no evaluator has measured both completely: train with evaluations (--eval-every)"
      ])
    }))

  it.effect("tells a killed run from a live one by its lock", () =>
    Effect.gen(function*() {
      const { folder, url } = yield* Served.start
      const killed = `${folder}/killed`
      yield* Effect.provide(Recorded.write(killed, { ends: false }), NodeServices.layer)
      const line = Effect.map(
        Served.get(`${url}/api/runs`),
        ({ text }) => JSON.parse(text).find(({ run }: { run: string }) => run === killed)
      )
      assert.deepInclude(yield* line, { status: "killed", state: "killed while continuing after iteration 2" })
      yield* Effect.gen(function*() {
        assert.deepInclude(yield* line, { status: "running" })
      }).pipe(Effect.provide(RunDirectory.layer(killed)), Effect.provide(NodeServices.layer))
    }))

  it.effect("returns a run's records without its updates' datums", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const { entries: records }: { readonly entries: ReadonlyArray<Record<string, unknown>> } = JSON.parse(
        (yield* Served.get(about(served, "records"))).text
      )
      assert.deepStrictEqual(records.map(({ sequence }) => sequence), records.map((_, index) => index))
      assert.isFalse(records.some((record) => "datums" in record))
      const updated = records.find(({ _tag }) => _tag === "Updated")
      assert.deepStrictEqual(updated?.["metrics"], { "optim/entropy": 0.005, "optim/lr": null, "env/all/truncated": 0 })
    }))

  it.effect("streams records after a sequence number, or after the last one that a browser received", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const url = about(served, "events", "&after=12")
      const { headers, text } = yield* Served.get(url, {}, "Finished")
      assert.strictEqual(headers["content-type"], "text/event-stream")
      const sequences = (message: string) =>
        JSON.parse(/^data: (\[.*)$/m.exec(message)?.[1] ?? "").map(({ sequence }: { sequence: number }) => sequence)
      assert.deepStrictEqual(sequences(text), [13, 14, 15, 16, 17, 18, 19, 20, 21])
      assert.match(text, /^id: 21$/m)
      const again = yield* Served.get(url, { "last-event-id": "19" }, "Finished")
      assert.deepStrictEqual(sequences(again.text), [20, 21])
    }))

  it.live("streams to at most 32 pages at a time", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const url = about(served, "events")
      const followed = Effect.acquireRelease(
        Effect.promise(async () => {
          const close = new AbortController()
          // The response must stay referenced: fetch closes the connection of a garbage-collected response.
          return { close, response: await fetch(url, { signal: close.signal }) }
        }),
        ({ close }) => Effect.sync(() => close.abort())
      )
      yield* Effect.scoped(Effect.gen(function*() {
        const open = yield* Effect.forEach(Array.from({ length: 32 }), () => followed)
        assert.isTrue(open.every(({ response }) => response.status === 200))
        const refused = yield* Served.get(url)
        assert.strictEqual(refused.status, 503)
        assert.strictEqual(refused.headers["retry-after"], "5")
        assert.include(refused.text, "32 pages follow runs at once")
        assert.strictEqual((yield* Served.get(served.url)).status, 200)
        assert.isTrue(open.every(({ response }) => response.body !== null))
      }))
      const again = Served.get(url, {}, "Finished")
      const { status } = yield* Effect.repeat(again, {
        until: ({ status }) => status === 200,
        schedule: Schedule.spaced("20 millis").pipe(Schedule.upTo({ times: 500 }))
      })
      assert.strictEqual(status, 200)
    }))

  const oneTick = "100 millis"

  /** Advances the test clock, and waits for the file checks that follow. */
  const pass = Effect.fnUntraced(function*({ looks, pending }: CountedFiles.CountedFiles) {
    yield* TestClock.adjust(oneTick)
    let before = -1
    for (let quiet = 0; quiet < 5; quiet = pending() > 0 || looks() !== before ? 0 : quiet + 1) {
      before = looks()
      yield* Effect.promise(() => setImmediate())
    }
  })

  /** A page that follows a run until the scope closes. */
  const follow = Effect.fnUntraced(function*(url: string) {
    let text = ""
    let isOver = false
    const end = () => {
      isOver = true
    }
    const sent = yield* Effect.acquireRelease(
      Effect.sync(() => request(url)),
      (sent) => Effect.sync(() => sent.destroy())
    )
    sent.on("error", end).on("response", (response) => {
      response.setEncoding("utf8").on("data", (more) => text += more).on("error", end).on("close", end)
    }).end()
    return {
      text: () => text,
      isOver: () => isOver,
      sequences: () =>
        [...text.matchAll(/^data: (\[.*)\n\n/gm)].flatMap(([, records = ""]) =>
          JSON.parse(records).map(({ sequence }: { readonly sequence: number }) => sequence)
        )
    }
  })

  const counting = Effect.gen(function*() {
    const { folder, run } = yield* Served.start
    const files = CountedFiles.make()
    const url = yield* Served.serve(folder, { files })
    return { files, served: { folder, run, url } }
  })

  const passUntil = (files: CountedFiles.CountedFiles, isDone: () => boolean) =>
    Effect.repeat(pass(files), { until: isDone })

  it.effect("checks for new records as often for eight pages as for one", () =>
    Effect.gen(function*() {
      const { files, served } = yield* counting
      const looksFor = (count: number) =>
        Effect.scoped(Effect.gen(function*() {
          const url = about(served, "events")
          const pages = yield* Effect.forEach(Array.from({ length: count }), () => follow(url))
          yield* passUntil(files, () => pages.every(({ text }) => /Finished/.test(text()) && /written/.test(text())))
          const before = files.looks()
          for (let tick = 0; tick < 40; tick++) yield* pass(files)
          return files.looks() - before
        }))
      const one = yield* looksFor(1)
      assert.isAtLeast(one, 40)
      assert.strictEqual(yield* looksFor(8), one)
    }))

  it.effect("reads new records as often for eight pages as for one", () =>
    Effect.gen(function*() {
      const { files, served } = yield* counting
      const run = `${served.folder}/live`
      yield* Effect.gen(function*() {
        const store = yield* RunStore.RunStore
        yield* store.append(Recorded.opened(-1))
        let last = 0
        const readsFor = (count: number) =>
          Effect.scoped(Effect.gen(function*() {
            const url = about({ ...served, run }, "events", `&after=${last}`)
            const pages = yield* Effect.forEach(Array.from({ length: count }), () => follow(url))
            yield* passUntil(files, () => pages.every(({ text }) => text().includes("written")))
            const before = files.reads()
            for (let more = 0; more < 5; more++) {
              last = (yield* store.append(Recorded.simple(0, "problem"))).sequence
              yield* passUntil(files, () => pages.every(({ sequences }) => sequences().includes(last)))
            }
            assert.isTrue(pages.every(({ sequences }) => sequences().length === 5))
            return files.reads() - before
          }))
        const one = yield* readsFor(1)
        assert.isAtLeast(one, 5)
        assert.strictEqual(yield* readsFor(8), one)
      }).pipe(Effect.provide(RunDirectory.layer(run)), Effect.provide(NodeServices.layer))
    }))

  it.effect("sends each page every record once, from its requested start, however late it connects", () =>
    Effect.gen(function*() {
      const { files, served } = yield* counting
      const run = `${served.folder}/live`
      const url = (after: number) => about({ ...served, run }, "events", `&after=${after}`)
      yield* Effect.gen(function*() {
        const store = yield* RunStore.RunStore
        const append = Effect.fnUntraced(function*(count: number) {
          for (let left = count; left > 0; left--) yield* store.append(Recorded.simple(0, "problem"))
        })
        yield* store.append(Recorded.opened(-1))
        yield* append(4)
        const pages = yield* Effect.forEach([-1, 2, 4, 7], (after) => follow(url(after)))
        yield* passUntil(files, () => pages.slice(0, 2).every(({ sequences }) => sequences().includes(4)))
        yield* append(5)
        yield* passUntil(files, () => pages.every(({ sequences }) => sequences().includes(9)))
        const late = yield* follow(url(1))
        yield* passUntil(files, () => late.sequences().includes(9))
        yield* append(1)
        const all = [...pages, late]
        const isWritten = "event: written\ndata: true\n\n"
        yield* passUntil(
          files,
          () => all.every(({ sequences, text }) => sequences().includes(10) && text().includes(isWritten))
        )
        assert.deepStrictEqual(
          all.map(({ sequences }) => sequences()),
          [-1, 2, 4, 7, 1].map((after) => Array.from({ length: 10 - after }, (_, index) => after + 1 + index))
        )
        assert.isTrue(all.every(({ text }) => text().includes("event: written\ndata: true")))
      }).pipe(Effect.provide(RunDirectory.layer(run)), Effect.provide(NodeServices.layer))
    }))

  it.effect("tells all pages when the writing process ends, and closes all streams at a damaged line", () =>
    Effect.gen(function*() {
      const { files, served } = yield* counting
      const run = `${served.folder}/live`
      const writing = yield* Scope.make()
      const store = Context.get(
        yield* Effect.provide(Layer.buildWithScope(RunDirectory.layer(run), writing), NodeServices.layer),
        RunStore.RunStore
      )
      yield* store.append(Recorded.opened(-1))
      const pages = yield* Effect.forEach(
        [-1, -1, -1],
        (after) => follow(about({ ...served, run }, "events", `&after=${after}`))
      )
      yield* passUntil(
        files,
        () => pages.every(({ sequences, text }) => sequences().includes(0) && text().includes("data: true"))
      )
      yield* Scope.close(writing, Exit.void)
      yield* passUntil(files, () => pages.every(({ text }) => text().endsWith("event: written\ndata: false\n\n")))
      assert.isTrue(pages.every(({ isOver }) => !isOver()))
      yield* withFile(`${run}/records.jsonl`, (text) => `${text}{}\n`)
      yield* passUntil(files, () => pages.every(({ isOver }) => isOver()))
      assert.deepStrictEqual(pages.map(({ sequences }) => sequences()), [[0], [0], [0]])
    }))

  it.effect("stops watching a run after its last page has closed, and watches again for the next", () =>
    Effect.gen(function*() {
      const { files, served } = yield* counting
      const url = about(served, "events", "&after=19")
      const looksIn = Effect.fnUntraced(function*(ticks: number) {
        const before = files.looks()
        for (let tick = 0; tick < ticks; tick++) yield* pass(files)
        return files.looks() - before
      })
      const first = yield* Scope.make()
      const second = yield* Scope.make()
      const pages = [yield* Scope.provide(follow(url), first), yield* Scope.provide(follow(url), second)]
      yield* passUntil(files, () => pages.every(({ text }) => text().includes("Finished")))
      yield* Scope.close(first, Exit.void)
      assert.isAtLeast(yield* looksIn(20), 20)
      yield* Scope.close(second, Exit.void)
      yield* Effect.repeat(looksIn(21), { until: (looks) => looks === 0 })
      const again = yield* follow(url)
      yield* passUntil(files, () => again.sequences().length === 2)
      assert.isAtLeast(yield* looksIn(20), 20)
    }))

  it.effect("returns transcripts as JSON, whatever a model wrote", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const { headers, text } = yield* Served.get(about(served, "transcript", `&sequence=${Recorded.first.mixed}`))
      assert.match(String(headers["content-type"]), /^application\/json/)
      const { members, rewards } = JSON.parse(text)
      assert.deepStrictEqual(rewards, [1, 0])
      const [turn] = members[1].turns
      assert.deepInclude(turn, { prompt: [1, 2, 3], tokens: [7, 8], logprobs: [-0.25, -2.5], reward: 0 })
      assert.deepStrictEqual(turn.pieces, [{ text: "<|im_end|>", isSpecial: true }, { text: "five", isSpecial: false }])
      assert.strictEqual(turn.logs.response, Recorded.hostile)
    }))

  it.effect("returns each turn's weights: the group's, unless the turn has its own", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const { text } = yield* Served.get(about(served, "transcript", `&sequence=${Recorded.first.rough}`))
      const { members } = JSON.parse(text)
      assert.strictEqual(members[0].turns[0].samplerStep, 0)
      assert.strictEqual(members[1].turns[0].samplerStep, 0)
      assert.strictEqual(members[1].turns[1].samplerStep, 1)
    }))

  it.effect("allows only its own scripts and styles, in every response", () =>
    Effect.gen(function*() {
      const { url } = yield* Served.start
      for (const path of ["/", "/assets/page.css", "/assets/page.js", "/api/runs"]) {
        const { headers, status } = yield* Served.get(`${url}${path}`)
        assert.strictEqual(status, 200, path)
        const policy = String(headers["content-security-policy"])
        assert.include(policy, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
        assert.notInclude(policy, "unsafe")
        assert.strictEqual(headers["x-content-type-options"], "nosniff")
      }
    }))

  const foreign: ReadonlyArray<readonly [name: string, headers: Readonly<Record<string, string>>]> = [
    ["a rebound host name", { host: "attacker.example" }],
    ["a host name that only begins like this machine's", { host: "localhost.attacker.example" }],
    ["another origin", { origin: "https://attacker.example" }],
    ["another port of this machine", { origin: "http://localhost:1" }],
    ["a sandboxed frame", { origin: "null" }],
    ["a request of another site", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }]
  ]

  it.effect.each(foreign)("refuses %s", ([, headers]) =>
    Effect.gen(function*() {
      const served = yield* Served.start
      for (
        const url of [about(served, "records"), about(served, "events"), `${served.url}/api/runs`, `${served.url}/`]
      ) {
        const { status, text } = yield* Served.get(url, headers)
        assert.strictEqual(status, 403)
        assert.notInclude(text, served.run)
      }
    }))

  it.effect("with a token, admits any host that sends it, first in the address and then in a cookie", () =>
    Effect.gen(function*() {
      const { folder } = yield* Served.start
      const url = yield* Served.serve(folder, { token: "secret" })
      const host = { host: "workstation.example:4000" }
      assert.strictEqual((yield* Served.get(`${url}/api/runs`, host)).status, 403)
      assert.strictEqual((yield* Served.get(`${url}/?token=secrets`, host)).status, 403)
      const { headers, status } = yield* Served.get(`${url}/?token=secret`, host)
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(headers["set-cookie"], ["effect-rl-view=secret; Path=/; HttpOnly; SameSite=Strict"])
      const cookie = { ...host, cookie: "effect-rl-view=secret" }
      assert.strictEqual((yield* Served.get(`${url}/api/runs`, cookie)).status, 200)
      assert.strictEqual(
        (yield* Served.get(`${url}/api/runs`, { ...cookie, origin: "https://attacker.example" })).status,
        403
      )
    }))

  it.effect("opens no directories except its runs", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      for (const run of ["/etc", `${served.run}/..`, `${served.run}/`, ""]) {
        assert.strictEqual((yield* Served.get(about({ ...served, run }, "records"))).status, 404, run)
      }
      for (
        const path of ["page.js/../../package.json", "..%2fserver%2fViewServer.ts", "server/ViewServer.ts", "nothing"]
      ) {
        assert.strictEqual((yield* Served.get(`${served.url}/assets/${path}`)).status, 404, path)
      }
    }))

  it.effect("says which record has no transcript, and which query is invalid", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const missing = yield* Served.get(about(served, "transcript", "&sequence=0"))
      assert.strictEqual(missing.status, 404)
      assert.include(missing.text, "record 0 of")
      assert.strictEqual((yield* Served.get(about(served, "events", "&after=soon"))).status, 400)
      assert.strictEqual((yield* Served.get(`${served.url}/api/records`)).status, 400)
    }))

  it.effect("computes each token's loss, for the run's loss or a requested one", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const creditOf = (more = "") =>
        Effect.map(
          Served.get(about(served, "transcript", `&sequence=${Recorded.first.mixed}${more}`)),
          ({ text }) => JSON.parse(text).members[1].turns[0].credit
        )
      const credit = yield* creditOf()
      assert.deepInclude(credit, { masked: null, advantages: [-0.5, -0.5], trainer: null })
      assert.deepStrictEqual(credit.loss, {
        name: "ppo",
        ratios: [1, 1],
        values: [0.5, 0.5],
        gradients: [0.5, 0.5],
        clipped: [false, false]
      })
      const { loss } = yield* creditOf("&loss=cispo")
      assert.deepStrictEqual(loss.values, [-0.125, -1.25])
      assert.strictEqual((yield* creditOf("&loss=unheard_of")).loss, null)
    }))

  it.effect("returns the recorded effect of the update on each token", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const { members } = JSON.parse(
        (yield* Served.get(about(served, "transcript", `&sequence=${Recorded.second.mixed}`))).text
      )
      const { advantages, loss, trainer } = members[1].turns[0].credit
      assert.deepStrictEqual(trainer, [-0.25, -2])
      assert.deepStrictEqual(advantages, [-0.5, -0.25])
      assert.strictEqual(loss.ratios[0], 1)
      assert.closeTo(loss.ratios[1], Math.exp(0.5), 1e-6)
      assert.closeTo(loss.values[1], 0.25 * Math.exp(0.5), 1e-6)
      assert.strictEqual(members[0].turns[0].credit.trainer, null)
    }))

  it.effect("loads a run's tokenizer once, when its records are read, even if loading fails", () =>
    Effect.gen(function*() {
      const { folder, run } = yield* Served.start
      const asked: Array<string> = []
      const isAsked = yield* Deferred.make<void>()
      const tokenizers = Layer.succeed(Tokenizer.Tokenizers, {
        load: (id) =>
          Effect.gen(function*() {
            asked.push(id)
            yield* Deferred.succeed(isAsked, undefined)
            return yield* new Tokenizer.TokenizerError({ tokenizer: id, detail: "the hub cannot be reached" })
          })
      })
      const url = yield* Served.serve(folder, { known: tokenizers })
      yield* Served.get(about({ url, folder, run }, "records"))
      yield* Deferred.await(isAsked)
      for (const sequence of [Recorded.first.mixed, Recorded.second.mixed]) {
        const { text } = yield* Served.get(about({ url, folder, run }, "transcript", `&sequence=${sequence}`))
        assert.isNull(JSON.parse(text).members[0].turns[0].pieces)
      }
      assert.deepStrictEqual(asked, ["test/words"])
    }))

  it.effect("searches texts that environments logged, newest groups first", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const found = (text: string) =>
        Effect.map(
          Served.get(about(served, "search", `&text=${encodeURIComponent(text)}`)),
          ({ text }) => text.trim().split("\n").map((line) => JSON.parse(line))
        )
      const [newest, older, end] = yield* found("LET ME")
      assert.deepInclude(newest, {
        iteration: 1,
        key: "1/rough",
        member: 1,
        turn: 0,
        name: "response",
        match: "let me"
      })
      assert.strictEqual(older.iteration, 0)
      const all = { groups: 11, isCut: false, unread: 0, reason: null }
      assert.deepStrictEqual(end, all)
      assert.deepStrictEqual(yield* found("nowhere"), [all])
    }))

  const withFile = Effect.fnUntraced(function*(file: string, edit: (text: string) => string) {
    const fs = yield* FileSystem.FileSystem
    const text = yield* fs.readFileString(file)
    yield* fs.writeFileString(file, edit(text))
  }, Effect.provide(NodeServices.layer))

  it.effect("shows no transcript that was modified after it was written, and searches the others", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const transcript = (sequence: number) => Served.get(about(served, "transcript", `&sequence=${sequence}`))
      yield* withFile(`${served.run}/payloads.jsonl`, (text) => text.replace(`"rewards":[1,0]`, `"rewards":[1,1]`))
      const groups = [Recorded.first, { second: Recorded.second.mixed }].flatMap(Object.values<number>)
      const answers = yield* Effect.forEach(groups, transcript)
      const [changed, ...others] = answers.filter(({ status }) => status !== 200)
      assert.deepStrictEqual(others, [])
      assert.strictEqual(changed?.status, 500)
      assert.match(
        changed?.text ?? "",
        /payloads\.jsonl was changed at bytes \d+ to \d+ after it was written/
      )
      const { text } = yield* Served.get(about(served, "search", "&text=nowhere"))
      const { reason, ...searched } = JSON.parse(text)
      assert.deepStrictEqual(searched, { groups: 10, isCut: false, unread: 1 })
      assert.include(reason, "was changed at bytes")
    }))

  it.effect("shows no update values whose tokens were modified after they were written", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      yield* withFile(`${served.run}/payloads.jsonl`, (text) => text.replace(`{"datums":[`, `{"datumz":[`))
      const { status, text } = yield* Served.get(about(served, "transcript", `&sequence=${Recorded.second.mixed}`))
      assert.strictEqual(status, 500)
      assert.include(text, "was changed at bytes")
    }))

  it.effect("says which record was modified after it was written, in the list and on the run's screen", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      yield* withFile(`${served.run}/records.jsonl`, (text) => text.replace(`"optim/lr"`, `"optim/lp"`))
      const expected = /records\.jsonl, line \d+ was changed, moved or repeated after it was written/
      const [line] = JSON.parse((yield* Served.get(`${served.url}/api/runs`)).text)
      assert.match(line.error, expected)
      for (const path of ["records", "transcript", "search", "regrade", "compare"]) {
        const more = `&sequence=9&text=five&iteration=0&rule=centered&others=${encodeURIComponent(served.run)}`
        const { status, text } = yield* Served.get(about(served, path, more))
        assert.strictEqual(status, 500, `${path}: ${text}`)
        assert.match(JSON.parse(text).error, expected, path)
      }
    }))

  const namedIn = Effect.fnUntraced(function*(logs: Parameters<typeof Recorded.writeUnlogged>[1]) {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped()
    const run = `${folder}/silent`
    yield* Recorded.writeUnlogged(run, logs)
    const url = yield* Served.serve(folder)
    return (text: string) =>
      Effect.map(
        Served.get(about({ url, folder, run }, "search", `&text=${encodeURIComponent(text)}`)),
        ({ text }) =>
          text.trim().split("\n").map((line) => JSON.parse(line)).map(({ name, turn }) =>
            name === undefined ? "end" : `${name} of turn ${turn}`
          )
      )
  }, Effect.provide(NodeServices.layer))

  it.effect("searches words that occur only in tokens, in their turn, and logs of a whole episode", () =>
    Effect.gen(function*() {
      const named = yield* namedIn({ reference: "5" })
      assert.deepStrictEqual(yield* named("PLUSfivefive"), ["prompt of turn 0", "end"])
      assert.deepStrictEqual(yield* named("five plus"), ["response of turn 0", "end"])
      assert.deepStrictEqual(yield* named("<a><b>"), ["prompt of turn 1", "end"])
      assert.deepStrictEqual(yield* named("good answer"), ["verdict of turn 0", "end"])
    }))

  it.effect("finds a system prompt and reasoning if only the question and answer were logged", () =>
    Effect.gen(function*() {
      const named = yield* namedIn({ question: "2 plus 3", response: "five" })
      assert.deepStrictEqual(yield* named("plusfivefive"), ["prompt of turn 0", "end"])
      assert.deepStrictEqual(yield* named("five plus"), ["response of turn 0", "end"])
      assert.deepStrictEqual(yield* named("2 plus"), ["question of turn 0", "question of turn 1", "end"])
    }))

  it.effect("recomputes a recorded iteration's advantages with another credit rule", () =>
    Effect.gen(function*() {
      const served = yield* Served.start
      const { groups } = JSON.parse(
        (yield* Served.get(about(served, "regrade", "&iteration=0&rule=leave_one_out"))).text
      )
      assert.deepStrictEqual(groups[0], { key: "0/mixed", verdict: "informative", advantages: [1, -1] })
      assert.strictEqual((yield* Served.get(about(served, "regrade", "&iteration=9&rule=max_rl"))).status, 404)
      assert.strictEqual((yield* Served.get(about(served, "regrade", "&iteration=0&rule=best"))).status, 400)
    }))
})
