/**
 * Sessions of just-bash, which runs commands in this process and keeps files in memory. It takes more than 100 MB, so it is not a
 * dependency. The tests are skipped unless `npm run just-bash-check` has installed it in `tools/just-bash`.
 */
import type { AiSdkSession } from "@effect-rl/sandbox"

/** The parts of `@ai-sdk/sandbox-just-bash` and `just-bash` that are used. */
interface Provider {
  readonly createSession: () => Promise<
    AiSdkSession.Session & { readonly defaultWorkingDirectory: string; stop(): Promise<void> }
  >
}

interface Packages {
  readonly createJustBashSandbox: (settings: { readonly cwd: string; readonly fs: object }) => Provider
  readonly InMemoryFs: new() => object
}

const home = "/home/user"

const installed = new URL("../../../../tools/just-bash/index.js", import.meta.url).href

const packages: Packages | undefined = await import(/* @vite-ignore */ installed).then(
  ({ createJustBashSandbox, InMemoryFs }) => ({ createJustBashSandbox, InMemoryFs }),
  () => undefined
)

/** The reason why the tests cannot run here, as text; undefined if they can. */
export const lacks = packages === undefined ? "just-bash is not installed: npm run just-bash-check" : undefined

/** The path inside the session, for a path that may start with the absolute path of a folder. */
const placeOf = (folders: Readonly<Record<string, string>>) => (path: unknown) => {
  if (typeof path !== "string") return path
  const [above, within] = Object.entries(folders).find(([above]) => `${path}/`.startsWith(`${above}/`)) ?? []
  return above === undefined ? path : `${home}/work/${within}${path.slice(above.length)}`
}

/** A file system with some folders at two paths, because just-bash does not follow links to folders. */
const withFolders = (files: object, folders: Readonly<Record<string, string>>) =>
  new Proxy(files, {
    get: (target, name) => {
      const found = Reflect.get(target, name)
      if (typeof found !== "function") return found
      return (...args: ReadonlyArray<unknown>) => Reflect.apply(found, target, args.map(placeOf(folders)))
    }
  })

/** Options of `Sandbox.layerSession` for just-bash. */
export const options: AiSdkSession.Options = {
  provider: "just-bash",
  isolation: "none",
  sampledCode: false,
  runtimes: ["shell"],
  network: "none",
  folders: true,
  open: ({ folders }) => {
    if (packages === undefined) return Promise.reject(new Error(lacks))
    const fs = withFolders(new packages.InMemoryFs(), folders)
    return packages.createJustBashSandbox({ cwd: home, fs }).createSession().then((session) => ({
      session,
      folder: session.defaultWorkingDirectory,
      close: () => session.stop()
    }))
  }
}
