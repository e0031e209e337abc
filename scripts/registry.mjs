// A package registry on this machine that has packed packages, and redirects requests for others to the registry that npm is set to.
//   node scripts/registry.mjs FOLDER      prints its address
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"

const folder = process.argv[2]
const others = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim().replace(/\/$/, "")

const packages = readdirSync(folder).filter((file) => file.endsWith(".tgz")).map((file) => {
  const manifest = JSON.parse(execFileSync("tar", ["-xzOf", join(folder, file), "package/package.json"]))
  return { file, manifest, bytes: readFileSync(join(folder, file)) }
})

const described = ({ bytes, file, manifest }, origin) => {
  const { name, version } = manifest
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`
  const dist = { tarball: `${origin}/${file}`, integrity }
  return { name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } }
}

const server = createServer(({ headers, url }, response) => {
  const asked = decodeURIComponent(url.slice(1))
  const found = packages.find(({ file, manifest }) => asked === file || asked === manifest.name)
  if (found === undefined) response.writeHead(302, { location: others + url }).end()
  else if (asked === found.file) response.end(found.bytes)
  else {
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify(described(found, `http://${headers.host}`)))
  }
})
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`))
