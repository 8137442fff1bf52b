import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { isError } from '@heddle/core'
import { openForge } from '../../src/forge/forge.ts'
import { preflight, type Preflight } from '../../src/preflight/preflight.ts'
import type { Account, Registry } from '../../src/registry/registry.ts'
import { startVerdaccio, type Verdaccio } from '../../src/testing/verdaccio.ts'
import { Monorepo } from '../support/monorepo.ts'
import { publishManifests } from '../support/publish.ts'
import { startStub } from '../support/servers.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

const built = (repo: Monorepo): boolean => existsSync(path.join(repo.root, '.git/built'))

function repository(name: string): Monorepo {
  const scripts = { build: 'touch ../../.git/built' }
  return new Monorepo({ packages: { [name]: [] }, fields: { [name]: { scripts } } })
}

async function problemsOf(work: Promise<unknown>): Promise<string[]> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(isError(error, 'HDL_PREFLIGHT'), String(error))
  return error.details.problems.map(({ check, problem }) => `${check}: ${problem}`)
}

test('a repository without a commit, and one that Git does not read, are refused', async () => {
  using repo = repository('pu')
  rmSync(path.join(repo.root, '.git'), { recursive: true })
  repo.git('init', '--quiet')
  const refused = problemsOf(publishManifests(repo, registry.url))
  assert.deepEqual(await refused, ['work tree: it has no commit'])
  rmSync(path.join(repo.root, '.git'), { recursive: true })
  repo.write('.git', 'gitdir: elsewhere\n')
  const [unread] = await problemsOf(publishManifests(repo, registry.url))
  assert.match(unread!, /^work tree: Git cannot read it: .*not a git repository/s)
})

test('all problems of the repository at once, before anything is built', async () => {
  using repo = repository('pa')
  const remote = mkdtempSync(path.join(os.tmpdir(), 'heddle-remote-'))
  try {
    execFileSync('git', ['init', '--quiet', '--bare', remote])
    repo.git('remote', 'add', 'origin', remote)
    repo.write('packages/pa/index.js', 'edited\n')
    repo.write('packages/pa/new.js', 'new\n')
    const head = repo.git('rev-parse', 'HEAD').slice(0, 12)
    assert.deepEqual(
      await problemsOf(publishManifests(repo, registry.url, { branches: ['release/*'] })),
      [
        'work tree: it differs from its commit in packages/pa/index.js, packages/pa/new.js',
        'branch: main is checked out',
        `remote: no remote has commit ${head}`,
      ],
    )
    assert.ok(!built(repo))
    repo.commit('edited')
    repo.git('push', '--quiet', 'origin', 'main')
    const report = await publishManifests(repo, registry.url, { branches: ['main'] })
    assert.equal(report.ok, true)
    assert.equal((await publishManifests(repo, registry.url, { branches: ['main'] })).ok, true)
  } finally {
    rmSync(remote, { recursive: true, force: true })
  }
})

test('a forge without a token is one of the problems, in a dry run too', async () => {
  using repo = repository('pn')
  await using forge = await openForge({ kind: 'github', root: repo.root, env: {} })
  repo.write('packages/pn/index.js', 'edited\n')
  const options = { forge, push: 'origin', dryRun: true }
  assert.deepEqual(await problemsOf(publishManifests(repo, registry.url, options)), [
    'work tree: it differs from its commit in packages/pn/index.js',
    'notes: GITHUB_TOKEN is not set',
  ])
  assert.ok(!built(repo))
})

test('--allow-dirty publishes the files in the tree, with a warning', async () => {
  using repo = repository('pb')
  repo.write('packages/pb/index.js', 'edited\n')
  const report = await publishManifests(repo, registry.url, { allowDirty: true })
  assert.equal(report.ok, true)
  assert.match(report.warnings[0]!, /Files of the work tree are changed/)
})

interface Asked {
  readonly whoami?: number
  readonly rights?: object
  readonly tfa?: object
}

/** A registry that is asked for an account and has no packages. */
async function accountsRegistry({
  whoami = 200,
  rights,
  tfa,
}: Asked): ReturnType<typeof startStub> {
  return startStub((request, response) => {
    const answer = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    const { url = '' } = request
    if (url === '/-/whoami') return answer(whoami, { username: 'somebody' })
    if (url === '/-/npm/v1/user' && tfa !== undefined) return answer(200, { tfa })
    if (url.includes('collaborators') && rights !== undefined) return answer(200, rights)
    return answer(404, { error: 'not found' })
  })
}

test('a token that the registry does not know ends the release before a build', async () => {
  using repo = repository('pc')
  await using server = await accountsRegistry({ whoami: 401 })
  repo.write('.npmrc', `//${new URL(server.url).host}/:_authToken=old\n`)
  const [problem] = await problemsOf(publishManifests(repo, server.url))
  assert.match(problem!, /account: .*does not know the token \(status 401\)/)
  assert.ok(!built(repo))
})

test('where uploads need a token and there is none, a release is refused and a dry run has a warning', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-preflight-'))
  try {
    const todo = 'Log in.'
    const account = (): Promise<Account> =>
      Promise.resolve({ is: 'anonymous', problem: 'no token', todo })
    const registries = [{ ...({} as Registry), url: 'https://registry.example/', account }]
    const subject = { root: folder, repository: undefined, output: undefined, registries }
    const check = (dryRun: boolean): Promise<Preflight> =>
      preflight(subject, { allowDirty: true, dryRun }, {})
    assert.deepEqual(await problemsOf(check(false)), ['account: no token'])
    assert.deepEqual((await check(true)).warnings, [
      'The release itself would be refused: no token. Log in.',
    ])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a variable that is not set ends the release before a build', async () => {
  using repo = repository('pd')
  await using server = await accountsRegistry({})
  repo.write('.npmrc', `//${new URL(server.url).host}/:_authToken=\${NPM_TOKEN}\n`)
  const [problem] = await problemsOf(publishManifests(repo, server.url))
  assert.match(problem!, /account: .*NPM_TOKEN is not set/)
  assert.ok(!built(repo))
})

test('a package that we may only read ends the release before a build', async () => {
  using repo = repository('pe')
  await using server = await accountsRegistry({ rights: { somebody: 'read-only' } })
  repo.write('.npmrc', `//${new URL(server.url).host}/:_authToken=x\n`)
  const report = await publishManifests(repo, server.url)
  assert.equal(report.ok, false)
  assert.match(report.packages[0]!.problems[0]!.message, /somebody may read the package/)
  assert.ok(!built(repo))
})

test('an account that asks for a one-time password for each write is named', async () => {
  using repo = repository('pf')
  await using server = await accountsRegistry({ tfa: { mode: 'auth-and-writes' } })
  repo.write('.npmrc', `//${new URL(server.url).host}/:_authToken=x\n`)
  const report = await publishManifests(repo, server.url, { dryRun: true })
  assert.match(report.warnings[0]!, /asks for a one-time password/)
})

test('a registry that asks for an endless pause ends the checks with a sentence', async () => {
  using repo = repository('pz')
  await using stub = await startStub((_, response) => {
    response.writeHead(429, { 'retry-after': '999999999' }).end('{}')
  })
  repo.write('.npmrc', `//${new URL(stub.url).host}/:_authToken=secret\n`)
  repo.commit('token')
  const [problem] = await problemsOf(publishManifests(repo, stub.url))
  assert.match(problem!, /^account: .* limits the rate of requests/)
  assert.equal(built(repo), false)
})
