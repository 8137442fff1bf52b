/** The scripts that npm runs around a publication: the same ones, in the same order. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { startVerdaccio, type Verdaccio } from '../../src/testing/verdaccio.ts'
import { Monorepo } from '../support/monorepo.ts'
import { publishManifests } from '../support/publish.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

const events = [
  'prepublish',
  'prepublishOnly',
  'preprepack',
  'prepack',
  'prepare',
  'postpack',
  'prepublishOnlyNot',
  'publish',
  'postpublish',
]

function repository(name: string): Monorepo {
  const scripts = Object.fromEntries(
    events.map((event) => [event, `echo ${event} >> ../../.git/events`]),
  )
  return new Monorepo({ packages: { [name]: [] }, fields: { [name]: { scripts } } })
}

const ran = ({ root }: Monorepo): string[] =>
  readFileSync(path.join(root, '.git/events'), 'utf8').trim().split('\n')

test('all scripts of a publication run as with npm publish', async () => {
  using theirs = repository('life-npm')
  const token = `--//${new URL(registry.url).host}/:_authToken=anybody`
  execFileSync('npm', ['publish', '--registry', registry.url, token], {
    cwd: path.join(theirs.root, 'packages/life-npm'),
    stdio: 'ignore',
  })
  using ours = repository('life-ours')
  const report = await publishManifests(ours, registry.url)
  assert.equal(report.ok, true, JSON.stringify(report.packages))
  assert.deepEqual(ran(ours), ran(theirs))
})

test('--ignore-scripts runs none of them', async () => {
  using repo = repository('life-none')
  const report = await publishManifests(repo, registry.url, { ignoreScripts: true })
  assert.equal(report.ok, true)
  assert.throws(() => ran(repo), /ENOENT/)
})

test('files that prepack writes are packed, files that postpack removes are gone, and the tree is clean', async () => {
  const scripts = {
    prepack:
      "cp package.json package.json.orig && node -e \"const f=require('./package.json');f.description='packed';require('fs').writeFileSync('package.json',JSON.stringify(f))\"",
    postpack: 'mv package.json.orig package.json',
  }
  using repo = new Monorepo({ packages: { 'life-pair': [] }, fields: { 'life-pair': { scripts } } })
  const report = await publishManifests(repo, registry.url)
  assert.equal(report.ok, true, JSON.stringify(report.packages))
  assert.equal(repo.status, '')
  const published = (await (await fetch(`${registry.url}/life-pair/1.0.0`)).json()) as object
  assert.equal(published['description' as keyof object], 'packed')
})

test('postpack that has taken back a failed prepack is not run a second time', async () => {
  const scripts = {
    prepack: 'echo pre >> ../../.git/events; false',
    postpack: 'echo post >> ../../.git/events',
  }
  using repo = new Monorepo({ packages: { 'life-once': [] }, fields: { 'life-once': { scripts } } })
  for (let times = 0; times < 2; times++) await publishManifests(repo, registry.url)
  assert.deepEqual(ran(repo), ['pre', 'post', 'pre', 'post'])
})

test('a manifest that is edited while it is pinned in place is not published with the edit', async () => {
  const edit = `node -e "const f=require('./package.json');f.description='edited';require('fs').writeFileSync('package.json',JSON.stringify(f))"`
  using repo = new Monorepo({
    packages: { 'life-pin-a': [], 'life-pin-b': ['life-pin-a'] },
    fields: { 'life-pin-b': { scripts: { build: edit } } },
  })
  const report = await publishManifests(repo, registry.url, { pin: 'in-place' })
  assert.equal(report.ok, false)
  assert.match(report.warnings[0]!, /HDL_RESTORE_CONFLICT/)
  assert.deepEqual(
    report.packages.map(({ outcome }) => outcome),
    ['published', 'published'],
  )
  const published = (await (await fetch(`${registry.url}/life-pin-b/1.0.0`)).json()) as object
  assert.equal(published['description' as keyof object], undefined)
  assert.deepEqual(published['dependencies' as keyof object], { 'life-pin-a': '1.0.0' })
})
