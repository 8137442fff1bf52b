import { startStub, type StubServer } from './servers.ts'

interface Staged {
  readonly id: string
  readonly packageName: string
  readonly version: string
  readonly integrity: string
}

export interface StagingRegistry extends StubServer {
  /** Stages a version of a package, as another user does. */
  stage(name: string, version: string, integrity: string): string
}

/** The part of npm's staged publishing that its own client uses, in memory. */
export async function startStagingRegistry(): Promise<StagingRegistry> {
  const staged = new Map<string, Staged>()
  const published = new Map<string, Staged>()
  let count = 0
  const archives = new Map<string, Buffer>()
  const stage = (packageName: string, version: string, integrity: string): string => {
    const id = `00000000-0000-4000-8000-${String(++count).padStart(12, '0')}`
    staged.set(id, { id, packageName, version, integrity })
    return id
  }
  const server = await startStub(async (request, response) => {
    let body = ''
    for await (const piece of request) body += String(piece)
    const { pathname, searchParams } = new URL(request.url!, 'http://x')
    const answer = (status: number, value: unknown): void =>
      void response
        .writeHead(status, { 'content-type': 'application/json' })
        .end(JSON.stringify(value))
    const [, id, action] = /^\/-\/stage\/([0-9a-f-]{36})(\/approve)?$/.exec(pathname) ?? []
    if (pathname.startsWith('/-/stage/package/')) {
      const sent = JSON.parse(body) as {
        name: string
        versions: Record<string, { dist: { integrity: string } }>
        _attachments: Record<string, { data: string }>
      }
      const [version, { dist }] = Object.entries(sent.versions)[0]!
      const [archive] = Object.values(sent._attachments)
      archives.set(`/archives/${sent.name}-${version}.tgz`, Buffer.from(archive!.data, 'base64'))
      answer(201, { stageId: stage(sent.name, version, dist.integrity) })
    } else if (pathname === '/-/stage') {
      const page = Number(searchParams.get('page'))
      const perPage = Number(searchParams.get('perPage'))
      const name = searchParams.get('package')
      const all = [...staged.values()].filter((each) => name === null || each.packageName === name)
      answer(200, {
        items: all.slice(page * perPage, (page + 1) * perPage),
        total: all.length,
      })
    } else if (id !== undefined) {
      const found = staged.get(id)
      staged.delete(id)
      if (found === undefined) return answer(404, { error: 'not found' })
      if (action !== undefined) published.set(`/${found.packageName}/${found.version}`, found)
      answer(200, {})
    } else if (pathname.endsWith('/dist-tags')) {
      const name = decodeURIComponent(pathname.split('/')[3]!)
      const found = [...published.values()].find(({ packageName }) => packageName === name)
      answer(200, found === undefined ? {} : { latest: found.version })
    } else if (archives.has(pathname)) {
      response.end(archives.get(pathname))
    } else {
      const found = published.get(decodeURIComponent(pathname))
      if (found === undefined) return answer(404, { error: 'not found' })
      const { version, integrity, packageName } = found
      const tarball = `http://${request.headers.host}/archives/${packageName}-${version}.tgz`
      answer(200, { version, dist: { integrity, tarball } })
    }
  })
  return Object.assign(server, { stage })
}
