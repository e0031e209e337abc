/** A program that listens on the loopback interface of a sandbox and forwards connections to the host's sockets. */

/** The folder of the sockets in a sandbox. */
export const gates = "/gates"

/** The path of Node in a sandbox. */
export const node = "/runtime/node"

/** The number of processes and threads that the program may have, slightly more than Node starts. */
export const processes = 16

/** The bytes of memory that the program may take, about three times what Node takes. */
export const memory = 64 * 1024 * 1024

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

/** Shell steps that start the program and wait until it is ready, before limits are set for the sandboxed program. */
export const steps = (ports: ReadonlyArray<number>): ReadonlyArray<string> =>
  ports.length === 0 ? [] : [
    `mkfifo ${fifo}`,
    `{ env -i UV_THREADPOOL_SIZE=1 ${node} --v8-pool-size=0 -e '${program}' ${
      ports.join(" ")
    } >${fifo} 2>/dev/null </dev/null 3>&- & }`,
    `read -r ready <${fifo}`,
    `rm ${fifo}`
  ]
