/** The subject of a request to a registry, read from its path and body. */
export interface Subject {
  readonly package?: string
  readonly version?: string
  /** Whether it sends a version, or one file of it. */
  readonly isUpload: boolean
}

/** Larger bodies are not looked into. */
const largestBody = 64 * 1024 * 1024

/** From the path alone: the part of the subject known before the body is there. */
export function subjectOfPath(method: string, path: string): Subject {
  const { pathname } = new URL(path, 'http://registry')
  const text = decodeURIComponent(pathname)
  const pypi = /\/pypi\/([^/]+)\/(?:([^/]+)\/)?json$/.exec(text)
  if (pypi !== null) return subject(pypi[1], pypi[2], false)
  const special = /\/-\/(?:stage\/)?package\/((?:@[^/]+\/)?[^/]+)/.exec(text)
  if (special !== null) return subject(special[1], undefined, method === 'POST')
  // heddle-ignore B105 -- a stand-in for tests: only a test sends the path
  const archive = /\/((?:@[^/]+\/)?[^/@]+)\/-\/[^/]*?-(\d+\.\d+\.\d+.*)\.tgz$/.exec(text)
  if (archive !== null) return subject(archive[1], archive[2], false)
  // heddle-ignore B105 -- only a test sends the path
  const npm = /\/((?:@[^/]+\/)?[^/@-][^/]*)(?:\/(\d+\.\d+\.\d+[^/]*))?$/.exec(text)
  return npm === null ? { isUpload: false } : subject(npm[1], npm[2], method === 'PUT')
}

/** From the body as well: which version is uploaded. */
export function subjectOf(method: string, path: string, body: Buffer): Subject {
  const fromPath = subjectOfPath(method, path)
  if (body.length === 0 || body.length > largestBody) return fromPath
  if (method === 'PUT' || method === 'POST') {
    const text = body.toString('latin1')
    if (text.startsWith('{')) return fromDocument(body, fromPath)
    if (text.startsWith('--')) return fromForm(text, fromPath)
  }
  return fromPath
}

function fromDocument(body: Buffer, fallback: Subject): Subject {
  try {
    const document = JSON.parse(body.toString()) as {
      name?: string
      versions?: Record<string, unknown>
      _attachments?: Record<string, unknown>
    }
    // Without an archive it is a change to an existing version: a deprecation.
    const isUpload = Object.keys(document._attachments ?? {}).length > 0
    const version = isUpload ? Object.keys(document.versions ?? {})[0] : undefined
    return subject(document.name ?? fallback.package, version, isUpload)
  } catch {
    return fallback
  }
}

function fromForm(text: string, fallback: Subject): Subject {
  const field = (name: string): string | undefined =>
    new RegExp(`name="${name}"\\r\\n\\r\\n([^\\r]*)\\r\\n`).exec(text)?.[1]
  if (field(':action') !== 'file_upload') return fallback
  return subject(field('name'), field('version'), true)
}

function subject(
  name: string | undefined,
  version: string | undefined,
  isUpload: boolean,
): Subject {
  return {
    ...(name === undefined ? {} : { package: name }),
    ...(version === undefined ? {} : { version }),
    isUpload,
  }
}
