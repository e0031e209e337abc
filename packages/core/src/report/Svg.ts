/** SVG documents as text. */

const entities = new Map([["&", "&amp;"], ["<", "&lt;"], [">", "&gt;"], ["\"", "&quot;"], ["'", "&#39;"]])

/** Escapes text for XML; control characters are dropped, because XML does not allow them. */
const escape = (value: string) =>
  value.replace(/\p{Cc}/gu, "").replace(/[&<>"']/g, (character) => entities.get(character) ?? "")

export const number = (value: number) => String(Number(value.toFixed(1)))

export type Attributes = Readonly<Record<string, string | number>>

/** An element as text. Attribute values are escaped; `content` is inserted without escaping. */
export const element = (name: string, attributes: Attributes, content = "") => {
  const written = Object.entries(attributes).map(([key, value]) =>
    ` ${key}="${escape(typeof value === "number" ? number(value) : value)}"`
  )
  return `<${name}${written.join("")}${content === "" ? "/>" : `>${content}</${name}>`}`
}

export const text = (x: number, y: number, value: string, attributes: Attributes = {}) =>
  element("text", { x, y, "font-size": "12", ...attributes }, escape(value))

/** A self-contained SVG document with a white background; the size is in pixels. */
export const document = (
  { height, width }: { readonly width: number; readonly height: number },
  title: string,
  elements: ReadonlyArray<string>
) =>
  element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "font-family": "DejaVu Sans, sans-serif"
    },
    ["", element("title", {}, escape(title)), element("rect", { width, height, fill: "#fff" }), ...elements, ""]
      .join("\n")
  ) + "\n"
