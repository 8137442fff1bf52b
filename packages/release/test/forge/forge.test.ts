import assert from 'node:assert/strict'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import { projectIn, type ForgeRelease } from '../../src/forge/api.ts'
import { openForge } from '../../src/forge/forge.ts'
import { Monorepo } from '../support/monorepo.ts'
import { startStub, type StubServer } from '../support/servers.ts'
import { inVirtualTime, virtualKernel } from '../support/virtual-time.ts'

interface StandIn extends AsyncDisposable {
  readonly url: string
  readonly made: Record<string, unknown>[]
  readonly calls: StubServer['calls']
}

/** The releases of GitHub or GitLab, as far as they are used. `loses` answers get lost after the release was made. */
async function startForge(secret: string, exists: number, loses = 0): Promise<StandIn> {
  const made: Record<string, unknown>[] = []
  let left = loses
  const server = await startStub(async (request, response) => {
    const { headers, method, url = '' } = request
    const given = [headers.authorization, headers['private-token'], headers['job-token']]
    if (!given.includes(secret)) return void response.writeHead(401).end('{"message":"who"}')
    const tag = decodeURIComponent(url.split('/').at(-1)!)
    if (method === 'GET') {
      const isThere = made.some(({ tag_name: name }) => name === tag)
      return void response.writeHead(isThere ? 200 : 404).end('{}')
    }
    const body = (await json(request)) as Record<string, unknown>
    if (made.some(({ tag_name: name }) => name === body['tag_name'])) {
      return void response.writeHead(exists).end('{"message":"already_exists"}')
    }
    made.push(body)
    if (left-- > 0) return void response.writeHead(502).end()
    response.writeHead(201).end('{}')
  })
  return { ...server, made, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

const release: ForgeRelease = {
  tag: '@acme/a@1.0.0',
  title: '@acme/a 1.0.0',
  notes: '- new',
  commit: 'abc',
  isPrerelease: false,
}

const forges = {
  github: {
    secret: 'Bearer t0',
    exists: 422,
    env: (url: string) => ({
      GITHUB_TOKEN: 't0',
      GITHUB_REPOSITORY: 'acme/all',
      GITHUB_API_URL: url,
    }),
    path: '/repos/acme/all/releases/tags/%40acme%2Fa%401.0.0',
    body: {
      tag_name: '@acme/a@1.0.0',
      target_commitish: 'abc',
      name: '@acme/a 1.0.0',
      body: '- new',
      prerelease: false,
    },
  },
  gitlab: {
    secret: 't1',
    exists: 409,
    env: (url: string) => ({ CI_JOB_TOKEN: 't1', CI_PROJECT_ID: '7', CI_API_V4_URL: url }),
    path: '/projects/7/releases/%40acme%2Fa%401.0.0',
    body: { tag_name: '@acme/a@1.0.0', ref: 'abc', name: '@acme/a 1.0.0', description: '- new' },
  },
} as const

for (const kind of ['github', 'gitlab'] as const) {
  const { secret, exists, env, path, body } = forges[kind]
  test(`F1, F2 ${kind}: announced once, also when the answer gets lost`, async () => {
    using repo = new Monorepo({ packages: {} })
    await using standIn = await startForge(secret, exists, 1)
    await using forge = await openForge({ kind, root: repo.root, env: env(standIn.url) })
    await forge.announce(release)
    assert.equal(await forge.announce({ ...release, notes: 'other' }), 'there')
    assert.deepEqual(standIn.made, [body])
    assert.equal(standIn.calls[0]!.path, path)
  })

  test(`${kind}: without a token nothing is built; a wrong one is an error`, async () => {
    using repo = new Monorepo({ packages: {} })
    await using unable = await openForge({ kind, root: repo.root, env: {} })
    assert.match(unable.lacks!.problem, /^GIT(HUB|LAB)_TOKEN is not set$/)
    await assert.rejects(unable.announce(release), { code: 'HDL_PREFLIGHT' })
    await using standIn = await startForge('another', exists)
    await using forge = await openForge({ kind, root: repo.root, env: env(standIn.url) })
    await assert.rejects(forge.announce(release), { code: 'HDL_REGISTRY_AUTH' })
  })
}

test('F3 an answer of success after which nothing can be read is an error', async () => {
  using repo = new Monorepo({ packages: {} })
  const kernel = virtualKernel()
  await using forgetful = await startStub((request, response) => {
    request.resume()
    response.writeHead(request.method === 'GET' ? 404 : 201).end('{}')
  })
  const { env } = forges.github
  const options = { kind: 'github', root: repo.root, env: env(forgetful.url), kernel } as const
  await using forge = await openForge(options)
  const work = forge.announce(release)
  const busy = (): boolean => forgetful.active() > 0
  await assert.rejects(inVirtualTime(kernel.clock, busy, work), /changed nothing/)
  assert.equal(forgetful.calls.filter(({ method }) => method === 'POST').length, 4)
})

test('the project is read from the address of the remote', () => {
  const found = [
    'https://github.com/acme/all.git',
    'git@github.com:acme/all.git',
    'ssh://git@gitlab.example.com:2222/team/sub/all',
    'https://user@host/acme/all/',
  ].map(projectIn)
  assert.deepEqual(found, ['acme/all', 'acme/all', 'team/sub/all', 'acme/all'])
})

test('a forge is reached through the proxy of the environment, as the registry is', async () => {
  using repo = new Monorepo({ packages: {} })
  // An address with http is forwarded: the proxy gets a request for the whole address.
  await using proxy = await startForge(forges.github.secret, forges.github.exists)
  const env = { ...forges.github.env('http://forge.example'), HTTP_PROXY: proxy.url }
  await using forge = await openForge({ kind: 'github', root: repo.root, env })
  assert.equal(await forge.announce(release), 'made')
  assert.equal(proxy.calls[0]!.path, `http://forge.example${forges.github.path}`)
})
