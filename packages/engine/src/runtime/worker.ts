/** The entry point of a compute thread. */
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads"
import * as Machine from "./Machine.ts"
import type { Command, Reply, Start } from "./Protocol.ts"

const serve = (port: NonNullable<typeof parentPort>, start: Start) => {
  const machine = Machine.make(start, { reply: (reply: Reply) => port.postMessage(reply), wake: () => work() })
  let isWorking = false

  const receive = (command: Command) => {
    if (command._tag === "Close") process.exit()
    machine.receive(command)
  }

  /** Works until there is nothing to do. Reads messages between steps without the event loop, which only grammar compilation needs. */
  const work = () => {
    if (isWorking) return
    isWorking = true
    let isBusy = false
    do {
      for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
        receive(next.message)
      }
      isBusy = machine.work()
    } while (isBusy && !machine.isPreparing())
    isWorking = false
    if (isBusy) setImmediate(work)
  }

  port.on("message", (command: Command) => {
    receive(command)
    work()
  })
}

if (parentPort !== null) serve(parentPort, workerData)
