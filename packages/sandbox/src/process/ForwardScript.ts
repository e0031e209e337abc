/** The program that listens on the loopback of a sandbox and carries what it gets to the sockets of the host. */

/** Where the sockets lie in a sandbox. */
export const gates = "/gates"

/** Where Node lies in a sandbox. */
export const node = "/runtime/node"

/** Processes and threads of the program; a little more than Node starts. */
export const processes = 16

const fifo = "/tmp/.forwarding"

const program = `
const net = require("node:net")
const ports = process.argv.slice(1).map(Number)
let waiting = ports.length
for (const port of ports) {
  const server = net.createServer({ allowHalfOpen: true }, (inside) => {
    const outside = net.connect({ path: "${gates}/" + port, allowHalfOpen: true })
    for (const [from, to] of [[inside, outside], [outside, inside]]) {
      from.pipe(to)
      from.on("error", () => to.destroy())
      from.on("close", () => to.destroy())
    }
  })
  server.listen(port, "127.0.0.1", () => {
    if (--waiting === 0) require("node:fs").writeSync(1, "ready\\n")
  })
}
`

/** Steps of a shell: the program is started, and has to be ready, before any limit of the sandboxed program is set. */
export const steps = (ports: ReadonlyArray<number>): ReadonlyArray<string> =>
  ports.length === 0 ? [] : [
    `mkfifo ${fifo}`,
    `{ env -i UV_THREADPOOL_SIZE=1 ${node} --v8-pool-size=0 -e '${program}' ${
      ports.join(" ")
    } >${fifo} 2>/dev/null </dev/null 3>&- & }`,
    `read -r ready <${fifo}`,
    `rm ${fifo}`
  ]
