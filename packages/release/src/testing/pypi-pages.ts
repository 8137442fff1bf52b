/** What the small PyPI answers with. */

/** One uploaded file. */
export interface PypiFile {
  readonly name: string
  readonly normalName: string
  readonly version: string
  readonly fileName: string
  readonly fileType: string
  readonly requiresPython: string
  /** Hexadecimal. */
  readonly sha256: string
  readonly content: Buffer
  /** All fields of the form it came with. */
  readonly fields: ReadonlyMap<string, readonly string[]>
}

interface Page {
  readonly type: string
  readonly body: string
}

const jsonType = 'application/vnd.pypi.simple.v1+json'

/** The answer of the JSON API, for one version or the last one. Undefined when there is none. */
export function describeRelease(
  files: readonly PypiFile[],
  version: string | undefined,
  base: string,
): object | undefined {
  const wanted = version ?? files.at(-1)?.version
  const ofVersion = files.filter((file) => file.version === wanted)
  const [first] = ofVersion
  if (first === undefined) return undefined
  return {
    info: {
      name: first.name,
      version: first.version,
      summary: first.fields.get('summary')?.[0] ?? '',
      requires_dist: first.fields.get('requires_dist') ?? null,
      requires_python: first.requiresPython,
      yanked: false,
      yanked_reason: null,
    },
    urls: ofVersion.map((file) => ({
      filename: file.fileName,
      packagetype: file.fileType,
      size: file.content.length,
      url: urlOf(file, base),
      digests: { sha256: file.sha256 },
      yanked: false,
    })),
  }
}

export function simpleIndex(files: readonly PypiFile[], accept: string): Page {
  const names = [...new Set(files.map(({ normalName }) => normalName))].sort()
  if (accept.includes(jsonType)) {
    const projects = names.map((name) => ({ name }))
    return { type: jsonType, body: JSON.stringify({ meta: { 'api-version': '1.0' }, projects }) }
  }
  return html(names.map((name) => `<a href="/simple/${name}/">${name}</a>`))
}

export function simplePage(
  name: string,
  files: readonly PypiFile[],
  base: string,
  accept: string,
): Page {
  if (accept.includes(jsonType)) {
    const listed = files.map((file) => ({
      filename: file.fileName,
      url: urlOf(file, base),
      hashes: { sha256: file.sha256 },
      ...(file.requiresPython === '' ? {} : { 'requires-python': file.requiresPython }),
    }))
    const body = JSON.stringify({ meta: { 'api-version': '1.0' }, name, files: listed })
    return { type: jsonType, body }
  }
  return html(
    files.map((file) => {
      const needs = file.requiresPython.replaceAll('<', '&lt;').replaceAll('>', '&gt;')
      const python = needs === '' ? '' : ` data-requires-python="${needs}"`
      return `<a href="${urlOf(file, base)}#sha256=${file.sha256}"${python}>${file.fileName}</a>`
    }),
  )
}

function html(links: readonly string[]): Page {
  const body = `<!DOCTYPE html><html><body>\n${links.map((link) => `${link}<br>`).join('\n')}\n</body></html>`
  return { type: 'text/html', body }
}

function urlOf(file: PypiFile, base: string): string {
  return `${base}/files/${file.fileName}`
}
