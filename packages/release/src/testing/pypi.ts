/**
 * A small PyPI: the parts that a release needs, with the checks of the real one.
 *
 *   GET  /pypi/{name}/json            the newest version and all files
 *   GET  /pypi/{name}/{version}/json  one version, with SHA-256 of each file
 *   GET  /simple/, /simple/{name}/    what installers read, as HTML or JSON
 *   GET  /files/{file}                the file
 *   POST /legacy/                     an upload
 *
 * PY1  A file name is used once. The same bytes again are taken without a change, others are refused.
 * PY2  An upload is refused when a digest that it names is not that of its bytes, and when name,
 *     version or kind of file are missing.
 */
import { createHash } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseForm, type Form } from './multipart-form.ts'
import { describeRelease, simpleIndex, simplePage, type PypiFile } from './pypi-pages.ts'

export interface PypiOptions {
  /** The API token that uploads need. Every caller may upload when absent. */
  readonly token?: string
}

/** What was refused, and how. */
class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/**
 * Starts a small PyPI on a free port of 127.0.0.1. It keeps everything in memory.
 *
 * *Cancellation*: none.
 * @example
 * await using pypi = await startPypi({ token: 'pypi-secret' })
 * const registry = pypiRegistry({ url: pypi.url, token: 'pypi-secret' })
 */
export async function startPypi(options: PypiOptions = {}): Promise<Pypi> {
  const pypi = new Pypi(options)
  await pypi.listen()
  return pypi
}

export class Pypi {
  /** All files, in the order of their upload. */
  readonly files: PypiFile[] = []
  readonly #server: http.Server
  readonly #token: string | undefined

  constructor(options: PypiOptions) {
    this.#token = options.token
    this.#server = http.createServer((request, response) => {
      this.#serve(request, response).catch((error: Error) => response.destroy(error))
    })
  }

  /** Without a slash at its end. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /**
   * Listens on a free port.
   *
   * *Cancellation*: none.
   */
  async listen(): Promise<void> {
    await new Promise<void>((done) => this.#server.listen(0, '127.0.0.1', done))
  }

  /**
   * Ends all connections.
   *
   * *Cancellation*: none.
   */
  async close(): Promise<void> {
    const closed = new Promise<void>((done) => this.#server.close(() => done()))
    this.#server.closeAllConnections()
    await closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    try {
      const { pathname } = new URL(request.url ?? '/', this.url)
      if (request.method === 'POST' && pathname === '/legacy/') {
        await this.#upload(request)
        response.writeHead(200, { 'content-type': 'text/plain' }).end('OK')
      } else if (request.method === 'GET') {
        this.#get(pathname, request.headers.accept ?? '', response)
      } else throw new Refusal(405, 'Method not allowed')
    } catch (error) {
      const status = error instanceof Refusal ? error.status : 500
      // The real one says it in the status line, and again in a page.
      const message = `${status} ${(error as Error).message}`
      if (response.headersSent) response.destroy()
      else response.writeHead(status, { 'content-type': 'text/plain' }).end(message)
    }
  }

  #get(pathname: string, accept: string, response: http.ServerResponse): void {
    const [first = '', second, third, fourth] = decodeURIComponent(pathname).slice(1).split('/')
    const found = this.files.filter((file) => file.normalName === second)
    if (first === 'files') {
      const file = this.files.find(({ fileName }) => fileName === second)
      if (file === undefined) throw new Refusal(404, 'Not Found')
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(file.content)
    } else if (first === 'pypi' && found.length > 0 && (third === 'json' || fourth === 'json')) {
      const release = describeRelease(found, third === 'json' ? undefined : third, this.url)
      if (release === undefined) throw new Refusal(404, 'Not Found')
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(release))
    } else if (first === 'simple') {
      const isIndex = second === undefined || second === ''
      if (!isIndex && found.length === 0) throw new Refusal(404, 'Not Found')
      const page = isIndex
        ? simpleIndex(this.files, accept)
        : simplePage(second, found, this.url, accept)
      response.writeHead(200, { 'content-type': page.type }).end(page.body)
    } else throw new Refusal(404, 'Not Found')
  }

  async #upload(request: http.IncomingMessage): Promise<void> {
    const pieces: Buffer[] = []
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece)
    this.#authorize(request.headers.authorization)
    const form = parseForm(request.headers['content-type'] ?? '', Buffer.concat(pieces))
    const file = fileOf(form)
    const known = this.files.find(({ fileName }) => fileName === file.fileName)
    if (known?.sha256 === file.sha256) return
    if (known !== undefined) {
      throw new Refusal(
        400,
        `File already exists ('${file.fileName}', with sha256 '${known.sha256}').`,
      )
    }
    this.files.push(file)
  }

  #authorize(header: string | undefined): void {
    if (this.#token === undefined) return
    const expected = `Basic ${Buffer.from(`__token__:${this.#token}`).toString('base64')}`
    if (header === undefined) throw new Refusal(401, 'Authentication is needed')
    if (header !== expected) {
      throw new Refusal(403, 'Invalid or non-existent authentication information.')
    }
  }
}

function fileOf(form: Form): PypiFile {
  const field = (name: string): string => form.fields.get(name)?.[0] ?? ''
  const content = form.file?.content
  const fileName = form.file?.fileName
  if (field(':action') !== 'file_upload' || field('protocol_version') !== '1') {
    throw new Refusal(400, 'Unknown protocol version.')
  }
  if (content === undefined || fileName === undefined || content.length === 0) {
    throw new Refusal(400, 'Upload payload does not have a file.')
  }
  for (const name of ['metadata_version', 'name', 'version', 'filetype']) {
    if (field(name) === '') throw new Refusal(400, `Invalid value for ${name}. Error: required.`)
  }
  const isWheel = fileName.endsWith('.whl')
  if (field('filetype') !== (isWheel ? 'bdist_wheel' : 'sdist')) {
    throw new Refusal(400, 'Invalid value for filetype. Error: it does not fit the file.')
  }
  const sha256 = createHash('sha256').update(content).digest('hex')
  const md5 = createHash('md5').update(content).digest('hex')
  const digests = { sha256_digest: sha256, md5_digest: md5 }
  for (const [name, actual] of Object.entries(digests)) {
    const claimed = field(name)
    if (claimed !== '' && claimed !== actual) {
      throw new Refusal(
        400,
        'The digest supplied does not match a digest calculated from the uploaded file.',
      )
    }
  }
  return {
    name: field('name'),
    normalName: field('name')
      .toLowerCase()
      .replaceAll(/[-_.]+/g, '-'),
    version: field('version'),
    fileName,
    fileType: field('filetype'),
    requiresPython: field('requires_python'),
    sha256,
    content,
    fields: form.fields,
  }
}
