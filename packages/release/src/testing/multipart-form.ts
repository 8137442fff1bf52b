/** A form with one file, as browsers and upload tools send it. */
export interface Form {
  /** Keyed by name; a name may come several times. */
  readonly fields: ReadonlyMap<string, readonly string[]>
  readonly file?: { readonly fileName: string; readonly content: Buffer }
}

export function parseForm(contentType: string, body: Buffer): Form {
  const boundary = /boundary="?([^";]+)"?/.exec(contentType)?.[1]
  const fields = new Map<string, string[]>()
  let file: Form['file']
  if (boundary === undefined) return { fields }
  const separator = Buffer.from(`--${boundary}`)
  let at = body.indexOf(separator)
  while (at >= 0) {
    const start = at + separator.length + 2
    const next = body.indexOf(separator, start)
    if (next < 0) break
    // Each part ends with a line break that belongs to the separator.
    const part = body.subarray(start, next - 2)
    const split = part.indexOf('\r\n\r\n')
    const head = part.subarray(0, split).toString('utf8')
    const content = part.subarray(split + 4)
    const name = /[; ]name="([^"]*)"/.exec(head)?.[1] ?? ''
    const fileName = /filename="([^"]*)"/.exec(head)?.[1]
    if (fileName !== undefined) file = { fileName, content: Buffer.from(content) }
    else fields.set(name, [...(fields.get(name) ?? []), content.toString('utf8')])
    at = next
  }
  return { fields, ...(file === undefined ? {} : { file }) }
}
