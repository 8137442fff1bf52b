import assert from 'node:assert/strict'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { isError } from '@heddle/core'
import { Repository } from '../../src/git/repository.ts'
import { versionRelease } from '../../src/version/version.ts'
import { Monorepo } from '../support/monorepo.ts'
import { publishManifests } from '../support/publish.ts'

/** Sets an environment variable until the test ends. */
function setVariable(t: TestContext, name: 'GIT_DIR' | 'GIT_WORK_TREE', value: string): void {
  const before = process.env[name]
  t.after(() => {
    if (before === undefined) delete process.env[name]
    else process.env[name] = before
  })
  process.env[name] = value
}

async function problemOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(isError(error, 'HDL_PREFLIGHT'), String(error))
  return error.details.problems
    .map(({ check, problem, todo }) => `${check}: ${problem}. ${todo}`)
    .join('\n')
}

test('GIT_DIR of another repository is refused by name, and nothing is written there', async (t) => {
  using repo = new Monorepo({ packages: { a: [] } })
  using other = new Monorepo({ packages: { b: [] } })
  const [own, foreign] = [repo, other].map(({ root }) => path.join(root, '.git'))
  setVariable(t, 'GIT_DIR', foreign!)
  const expected = `work tree: GIT_DIR is set, so Git reads the repository ${foreign} with the work tree ${repo.root} instead of ${own} with ${repo.root}. Unset GIT_DIR.`
  // Nothing is asked before: no registry listens there.
  assert.equal(await problemOf(publishManifests(repo, 'http://127.0.0.1:9/')), expected)
  const options = { plan: () => assert.fail('nothing is planned') }
  assert.equal(await problemOf(versionRelease(repo.root, options)), expected)
  assert.equal(await problemOf(Repository.open(repo.root)), expected)
  assert.ok(!existsSync(path.join(foreign!, 'heddle')))
})

test('GIT_WORK_TREE of another repository is refused by name', async (t) => {
  using repo = new Monorepo({ packages: { a: [] } })
  using other = new Monorepo({ packages: { b: [] } })
  setVariable(t, 'GIT_WORK_TREE', other.root)
  const own = path.join(repo.root, '.git')
  assert.equal(
    await problemOf(publishManifests(repo, 'http://127.0.0.1:9/')),
    `work tree: GIT_WORK_TREE is set, so Git reads the repository ${own} with the work tree ${other.root} instead of ${own} with ${repo.root}. Unset GIT_WORK_TREE.`,
  )
})

test('variables that name the repository itself are accepted, as Git sets them for hooks', async (t) => {
  using repo = new Monorepo({ packages: { a: [] } })
  setVariable(t, 'GIT_DIR', '.git')
  assert.ok((await Repository.open(repo.root)) !== undefined)
  setVariable(t, 'GIT_WORK_TREE', repo.root)
  assert.ok((await Repository.open(repo.root)) !== undefined)
})

test('a second work tree is its own repository', async (t) => {
  using repo = new Monorepo({ packages: { a: [] } })
  using parent = new Monorepo({ packages: {} })
  const tree = path.join(parent.root, 'second')
  repo.git('worktree', 'add', '--quiet', tree)
  setVariable(t, 'GIT_DIR', path.join(repo.root, '.git/worktrees/second'))
  assert.ok((await Repository.open(tree)) !== undefined)
})

test('a folder without a repository may have one by GIT_DIR', async (t) => {
  using repo = new Monorepo({ packages: { a: [] } })
  const folder = path.join(repo.root, '..', `${path.basename(repo.root)}-outside`)
  t.after(() => rmSync(folder, { recursive: true }))
  mkdirSync(folder)
  setVariable(t, 'GIT_DIR', path.join(repo.root, '.git'))
  assert.ok((await Repository.open(folder)) !== undefined)
})
