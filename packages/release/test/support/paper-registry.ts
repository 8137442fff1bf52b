/** An npm registry in memory that keeps its uploads, with headers: for requests that verdaccio refuses. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { startStub } from './servers.ts'

interface Sent {
  readonly name: string
  readonly 'dist-tags': Record<string, string>
  readonly versions: Record<string, { dist: { tarball: string } }>
  readonly _attachments: Record<string, { data: string; content_type: string }>
}

export interface PaperRegistry extends AsyncDisposable {
  readonly url: string
  readonly uploads: { readonly headers: IncomingHttpHeaders; readonly sent: Sent }[]
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

/** `more` answers first, with a status or an object; undefined leaves it to the registry. */
export async function startPaperRegistry(
  more: (
    method: string,
    url: string,
    headers: IncomingHttpHeaders,
  ) => object | number | undefined = () => undefined,
): Promise<PaperRegistry> {
  const uploads: PaperRegistry['uploads'] = []
  const stub = await startStub(async (request, response) => {
    const { method = '', url = '', headers } = request
    const body = await textOf(request)
    const answer = (status: number, value: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    const special = more(method, url, headers)
    if (typeof special === 'number') return answer(special, {})
    if (special !== undefined) return answer(200, special)
    const [, escapedName = '', rest = ''] = /^\/([^/]+)(?:\/(.*))?$/.exec(url) ?? []
    const name = decodeURIComponent(escapedName)
    if (method === 'PUT') {
      uploads.push({ headers, sent: JSON.parse(body) as Sent })
      return answer(201, { ok: true })
    }
    if (rest.startsWith('archive-')) {
      const found = uploads.find(({ sent }) => `archive-${sent.name}` === decodeURIComponent(rest))
      const [archive] = Object.values(found!.sent._attachments)
      return void response.end(Buffer.from(archive!.data, 'base64'))
    }
    const found = uploads.find(({ sent }) => sent.name === name && rest in sent.versions)
    if (found === undefined) {
      const tagged = uploads.find(({ sent }) => url.includes(`/${sent.name}/dist-tags`))
      return tagged === undefined ? answer(404, {}) : answer(200, tagged.sent['dist-tags'])
    }
    const document = found.sent.versions[rest]!
    const tarball = `http://${headers.host}/${escapedName}/archive-${encodeURIComponent(name)}`
    return answer(200, { ...document, dist: { ...document.dist, tarball } })
  })
  return { url: stub.url, uploads, [Symbol.asyncDispose]: () => stub[Symbol.asyncDispose]() }
}
