/**
 * The built files of the dashboard, read once and answered from memory.
 *
 * Invariants, quoted by the tests:
 *  D1  Only files that were there at the start are answered: a path never reaches the disk.
 *  D2  Every answer has the content security policy: no script, style or connection of another origin, nothing inline.
 *  D3  Files with a hash in their name are kept by browsers for a year; the page itself is asked for each time.
 *  D4  Browsers that take gzip get it; it was made at the start, off the loop.
 */
import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

export interface SiteAnswer {
  readonly status: 200 | 304
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

export interface SiteRequest {
  /** Values of `Accept-Encoding` and `If-None-Match`. */
  readonly encodings?: string | undefined
  readonly etag?: string | undefined
}

export interface Site {
  /** `path` is the part after `/ui/`; undefined when there is no such file. */
  answer(path: string, request: SiteRequest): SiteAnswer | undefined
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** Job output is data everywhere: were a piece of it to become markup, the browser would still run nothing. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

const common = {
  'content-security-policy': contentSecurityPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
} as const

interface SiteFile {
  readonly headers: Readonly<Record<string, string>>
  readonly etag: string
  readonly bytes: Buffer
  /** Absent when it is not smaller. */
  readonly zipped: Buffer | undefined
}

const zip = promisify(gzip)

/** Reads a folder of built files. The ones it has now are the ones it will ever have (D1). */
export async function readSite(folder: string): Promise<Site> {
  const files = new Map<string, SiteFile>()
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of entries) {
    if (!entry.isFile()) continue
    const file = path.join(entry.parentPath, entry.name)
    const name = path.relative(folder, file).split(path.sep).join('/')
    files.set(name, await toFile(name, await readFile(file)))
  }
  return {
    answer: (name, request) => answer(files.get(name === '' ? 'index.html' : name), request),
  }
}

async function toFile(name: string, bytes: Buffer): Promise<SiteFile> {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  const zipped = await zip(bytes, { level: 9 })
  const isHashed = /^assets\/.*-[\w-]{8,}\.\w+$/.test(name)
  return {
    etag,
    bytes,
    zipped: zipped.byteLength < bytes.byteLength ? zipped : undefined,
    headers: {
      ...common,
      'content-type': types[path.extname(name)] ?? 'application/octet-stream',
      'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'accept-encoding',
      etag,
    },
  }
}

function answer(
  file: SiteFile | undefined,
  { encodings, etag }: SiteRequest,
): SiteAnswer | undefined {
  if (file === undefined) return undefined
  const { headers, bytes, zipped } = file
  if (etag?.split(',').some((each) => each.trim() === file.etag)) {
    return { status: 304, headers, body: undefined }
  }
  if (zipped === undefined || !/\bgzip\b/.test(encodings ?? ''))
    return { status: 200, headers, body: bytes }
  return { status: 200, headers: { ...headers, 'content-encoding': 'gzip' }, body: zipped }
}
