import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startVerdaccio, type Verdaccio } from '@heddle/release/testing'
import { runProgram } from '../support/program.ts'
import { FlowRepository } from './flow-kit.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

interface PackageSketch {
  readonly isPrivate?: boolean
  readonly needs?: object
}

/** A workspace with these packages; each has version 1.0.0. */
function workspace(packages: Readonly<Record<string, PackageSketch>>): FlowRepository {
  const repo = new FlowRepository(registry.url)
  repo.write('package.json', { private: true, workspaces: ['packages/*'] })
  for (const [name, { isPrivate = false, needs: dependencies = {} }] of Object.entries(packages)) {
    const manifest = { name, version: '1.0.0', private: isPrivate, dependencies }
    repo.write(`packages/${name}/package.json`, manifest)
  }
  repo.commit('first')
  return repo
}

const plan = (repo: FlowRepository, ...args: string[]): ReturnType<typeof runProgram> =>
  runProgram(['release', 'plan', ...args], { cwd: repo.root })

for (const [why, packages, problem] of [
  [
    'a private package is needed',
    { 'plan-a': { isPrivate: true }, 'plan-b': { needs: { 'plan-a': 'workspace:^' } } },
    /plan-b cannot be released: "plan-a" in dependencies is private and never published/,
  ],
  [
    'a range leads to a folder that is not a package',
    { 'plan-a': { needs: { x: 'file:../x' } } },
    /plan-a cannot be released: "x" in dependencies is "file:\.\.\/x": no package of the workspace/,
  ],
] as const) {
  test(`plan ends with 2 where ${why}, and still prints the plan`, async () => {
    using repo = workspace(packages)
    const table = await plan(repo, '--offline')
    assert.equal(table.code, 2)
    assert.match(table.stdout, /^package +version/)
    assert.match(table.stdout, problem)
    const levels = await plan(repo, '--offline', '--format', 'levels')
    assert.equal(levels.code, 2)
    assert.match(levels.stderr, problem)
    const json = await plan(repo, '--offline', '--json')
    assert.equal(json.code, 2)
    const { problems } = JSON.parse(json.stdout) as { problems: object[] }
    assert.equal(problems.length, 1)
  })
}

test('plan ends with 2 for a dist-tag that npm refuses', async () => {
  using repo = workspace({ 'plan-a': {} })
  const { code, stdout } = await plan(repo, '--offline', '--dist-tag', '1.x')
  assert.equal(code, 2)
  assert.match(stdout, /plan-a cannot be released: the dist-tag "1\.x"/)
})

test('plan ends with 2 where what is left out is needed and not on the registry, as publish does', async () => {
  using repo = workspace({ 'plan-a': {}, 'plan-b': { needs: { 'plan-a': 'workspace:^' } } })
  const args = ['--registry', registry.url, '--exclude', 'plan-a']
  const { code, stderr } = await plan(repo, ...args)
  assert.equal(code, 2)
  assert.match(stderr, /plan-a@1\.0\.0 is not on the registry/)
  // Not asked, it is not known.
  assert.equal((await plan(repo, '--offline', '--exclude', 'plan-a')).code, 0)
})

test('plan shows what it can where the registry does not answer', async () => {
  using repo = workspace({ 'plan-a': {}, 'plan-b': { needs: { 'plan-a': 'workspace:^' } } })
  const silent = 'http://127.0.0.1:1'
  const { code, stdout, stderr } = await plan(repo, '--registry', silent, '--exclude', 'plan-a')
  assert.equal(code, 0)
  assert.match(stdout, /plan-b +1\.0\.0 +included/)
  assert.match(stderr, /127\.0\.0\.1:1\/? does not answer/)
})
