import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { seededRandom } from '@heddle/core/lowlevel'
import { VirtualClock } from '@heddle/core/testing'
import { startFaultProxy, startVerdaccio, type Verdaccio } from '@heddle/release/testing'
import { until } from '../../../core/test/kernel/until.ts'
import { Program, runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

/** `a ← b`, committed. */
class Workspace implements Disposable {
  readonly root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'heddle-release-')))

  constructor(version = '1.0.0', scope = '@cli') {
    this.write('package.json', { private: true, workspaces: ['packages/*'] })
    this.write('packages/a/package.json', { name: `${scope}/a`, version })
    const dependencies = { [`${scope}/a`]: 'workspace:^' }
    this.write('packages/b/package.json', { name: `${scope}/b`, version, dependencies })
    this.git('init', '--quiet')
    this.git('add', '--all')
    this.git('commit', '--quiet', '--message', 'first')
  }

  write(file: string, content: object): void {
    const full = path.join(this.root, file)
    mkdirSync(path.dirname(full), { recursive: true })
    writeFileSync(full, JSON.stringify(content))
  }

  git(...args: string[]): string {
    const identity = ['-c', 'user.name=Somebody', '-c', 'user.email=somebody@example.com']
    return execFileSync('git', [...identity, ...args], { cwd: this.root, encoding: 'utf8' })
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}

interface Result {
  readonly ok: boolean
  readonly packages: readonly { name: string; version: string; outcome: string }[]
}

const lastObject = (stdout: string): Result =>
  JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as Result

test('plan prints a table, a drawing and one JSON object', async () => {
  using ws = new Workspace()
  const options = { cwd: ws.root }
  const table = await runProgram(['release', 'plan', '--offline'], options)
  assert.equal(table.code, 0)
  assert.match(table.stdout, /@cli\/a +1\.0\.0 +included/)
  assert.match(
    (await runProgram(['release', 'plan', '--format', 'mermaid'], options)).stdout,
    /^graph/,
  )
  const { stdout } = await runProgram(['release', 'plan', '--json', '--offline'], options)
  assert.equal((JSON.parse(stdout) as { packages: object[] }).packages.length, 2)
})

test('plan shows the versions that the registry has already', async () => {
  using ws = new Workspace('1.3.0', '@shown')
  const where = ['--registry', registry.url]
  const only = ['--include', '@shown/a', '--no-smoke']
  await runProgram(['release', 'publish', ...where, ...only], { cwd: ws.root })
  const { stdout } = await runProgram(['release', 'plan', ...where], { cwd: ws.root })
  assert.match(stdout, /@shown\/a +1\.3\.0 +included +published/)
  assert.match(stdout, /@shown\/b +1\.3\.0 +included +new/)
})

test('publish, status and a second publish work for programs', async () => {
  using ws = new Workspace('1.0.1')
  const options = { cwd: ws.root }
  const where = ['--registry', registry.url, '--json']
  const missing = await runProgram(['release', 'status', ...where], options)
  assert.equal(missing.code, 1)
  const first = await runProgram(['release', 'publish', ...where], options)
  assert.equal(first.code, 0, first.stderr)
  assert.deepEqual(
    lastObject(first.stdout).packages.map(({ name, version, outcome }) => [name, version, outcome]),
    [
      ['@cli/a', '1.0.1', 'published'],
      ['@cli/b', '1.0.1', 'published'],
    ],
  )
  const again = await runProgram(['release', 'publish', ...where], options)
  assert.equal(again.code, 0)
  assert.ok(
    lastObject(again.stdout).packages.every(({ outcome }) => outcome === 'already-published'),
  )
  assert.equal((await runProgram(['release', 'status', ...where], options)).code, 0)
  assert.deepEqual(ws.git('tag').trim().split('\n'), ['@cli/a@1.0.1', '@cli/b@1.0.1'])
  assert.equal(ws.git('status', '--porcelain'), '')
})

test('a registry that refuses: exit code 1, the reason, the repair', async () => {
  using ws = new Workspace('1.0.2')
  await using proxy = await startFaultProxy({
    target: registry.url,
    rules: [{ method: 'PUT', package: '@cli/a', status: 403 }],
  })
  const args = ['release', 'publish', '--registry', proxy.url, '--no-smoke']
  const { code, stdout } = await runProgram(args, { cwd: ws.root })
  assert.equal(code, 1)
  assert.match(stdout, /✗ @cli\/a@1\.0\.2 +failed/)
  assert.match(stdout, /⊘ @cli\/b@1\.0\.2 +blocked by @cli\/a/)
  assert.match(stdout, /0 of 2 packages on the registry/)
  assert.match(stdout, /Correct the rights or the token/)
  assert.match(stdout, /Correct the faults named above, then release again/)
})

test('a folder that is not a workspace: exit code 2 and a clear message', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-nothing-'))
  const { code, stderr } = await runProgram(['release', 'publish'], { cwd: folder })
  rmSync(folder, { recursive: true })
  assert.equal(code, 2)
  assert.match(stderr, /^heddle: .*\n.*\[HDL_/)
})

test('an address that is none: exit code 2 and a clear word', async () => {
  using ws = new Workspace()
  const args = ['release', 'publish', '--registry', 'somebody:secret@nowhere']
  const { code, stderr } = await runProgram(args, { cwd: ws.root })
  assert.equal(code, 2)
  assert.match(stderr, /^heddle: Option "registry" is "nowhere", expected the address/)
  assert.doesNotMatch(stderr, /secret|\n +at /)
})

test('a registry that repeats the token: it is not printed, kept or sent on', async () => {
  using ws = new Workspace('1.0.5')
  const body = { error: 'the token npm_secret is not valid' }
  const rules = [{ method: 'PUT', status: 401, body }]
  await using proxy = await startFaultProxy({ target: registry.url, rules })
  const { host } = new URL(proxy.url)
  writeFileSync(path.join(ws.root, '.npmrc'), `//${host}/:_authToken=npm_secret\n`)
  const args = ['release', 'publish', '--registry', proxy.url, '--json']
  const { code, stdout, stderr } = await runProgram(args, { cwd: ws.root })
  assert.equal(code, 1)
  assert.match(stdout, /the token \[secret\] is not valid/)
  assert.doesNotMatch(stdout + stderr, /npm_secret/)
  const folder = path.join(ws.root, '.git', 'heddle')
  for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const text = readFileSync(path.join(file.parentPath, file.name), 'latin1')
    assert.ok(!text.includes('npm_secret'), file.name)
  }
})

test('L2 killed while manifests are pinned: the next release is planned from restored manifests', async () => {
  using ws = new Workspace('1.0.6')
  await using stage = await Stage.open()
  // Manifests are pinned until the last package is packed: with this build that is not before the kill.
  const hello = `JSON.stringify({ name: 'build', pid: process.pid })`
  const waits = `require('net').connect(process.env.HEDDLE_TEST_STAGE).resume().write(${hello})`
  ws.write('packages/b/package.json', {
    name: '@cli/b',
    version: '1.0.6',
    dependencies: { '@cli/a': 'workspace:^' },
    scripts: { build: `node -e "if (process.env.HEDDLE_TEST_STAGE) ${waits}"` },
  })
  ws.git('commit', '--all', '--quiet', '--message', 'a build that waits')
  const args = ['release', 'publish', '--registry', registry.url, '--no-smoke', '--json']
  using program = new Program([...args, '--pin', 'in-place'], { cwd: ws.root, env: stage.env })
  await stage.started('build')
  program.process.kill('SIGKILL')
  await program.ended()
  await stage.finish('build')
  assert.match(ws.git('status', '--porcelain'), /packages\/b\/package.json/)
  const { code, stdout } = await runProgram(args, { cwd: ws.root })
  assert.equal(code, 0, stdout)
  const published = (await (await fetch(`${registry.url}/@cli/b/1.0.6`)).json()) as object
  assert.deepEqual(published['dependencies' as keyof object], { '@cli/a': '^1.0.6' })
  assert.equal(ws.git('status', '--porcelain'), '')
})

test('a dependency that is excluded must be on the registry', async () => {
  using ws = new Workspace('1.0.7')
  const args = ['release', 'publish', '--registry', registry.url, '--exclude', '@cli/a']
  const { code, stderr } = await runProgram(args, { cwd: ws.root })
  assert.equal(code, 2)
  assert.match(stderr, /"@cli\/b" needs "@cli\/a".*@cli\/a@1\.0\.7 is not on the registry/)
})

for (const [signal, code, version] of [
  ['SIGINT', 130, '1.0.8'],
  ['SIGTERM', 143, '1.0.9'],
] as const) {
  test(`${signal} in the middle of an upload: ${code}, a clean tree, and the next call finishes it`, async () => {
    using ws = new Workspace(version)
    const clock = new VirtualClock()
    await using proxy = await startFaultProxy({
      target: registry.url,
      rules: [{ method: 'PUT', package: '@cli/a', delay: 3_000, times: 1 }],
      kernel: { clock, random: seededRandom(1) },
    })
    const args = ['release', 'publish', '--registry', proxy.url, '--no-smoke']
    using program = new Program(args, { cwd: ws.root })
    await program.printed(/upload +@cli\/a: upload 1/)
    await until(() => clock.pending > 0)
    program.process.kill(signal)
    await program.printed(new RegExp(`cancelling \\(${signal}\\)`))
    await clock.advance(3_000)
    assert.equal(await program.ended(), code, program.stdout)
    assert.equal(ws.git('status', '--porcelain'), '')
    const again = await runProgram([...args, '--json'], { cwd: ws.root })
    assert.equal(again.code, 0, again.stderr)
    assert.equal(proxy.uploads.get(`@cli/a@${version}`)?.accepted, 1)
  })
}

test('a manifest that was edited while it was pinned: the report is printed, exit code 1', async () => {
  using ws = new Workspace('1.2.0')
  const edit = `node -e "require('fs').appendFileSync('package.json', ' ')"`
  ws.write('packages/b/package.json', {
    name: '@cli/b',
    version: '1.2.0',
    dependencies: { '@cli/a': 'workspace:^' },
    scripts: { build: edit },
  })
  ws.git('commit', '--all', '--quiet', '--message', 'a build that edits its manifest')
  const args = ['release', 'publish', '--registry', registry.url, '--no-smoke', '--pin', 'in-place']
  const { code, stdout } = await runProgram(args, { cwd: ws.root })
  assert.match(stdout, /2 of 2 packages on the registry/)
  assert.match(stdout, /HDL_RESTORE_CONFLICT/)
  assert.equal(code, 1)
})

test('work of an earlier call is not reported as done again', async () => {
  using ws = new Workspace('1.2.1')
  const args = ['release', 'publish', '--registry', registry.url, '--no-smoke']
  const first = await runProgram(args, { cwd: ws.root })
  assert.match(first.stdout, /upload +@cli\/a: accepted by the registry/)
  assert.match(first.stdout, /tag +@cli\/a: tagged @cli\/a@1\.2\.1/)
  assert.match(first.stdout, /done +1 of 2 packages: @cli\/a\n[^]*done +2 of 2 packages: @cli\/b\n/)
  assert.match(first.stdout, /\n +(?:build +)?pack +upload .*\n@cli\/a +\d/)
  const again = await runProgram(args, { cwd: ws.root })
  assert.match(again.stdout, /visible +@cli\/a: the registry has it, published from this commit/)
  assert.doesNotMatch(again.stdout, /accepted by|tagged|upload 1/)
})

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`${signal} while the release is checked: ${code} and a sentence`, async () => {
    using ws = new Workspace('1.3.1')
    const asked = Promise.withResolvers<void>()
    const silent = http.createServer(() => asked.resolve())
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
    writeFileSync(path.join(ws.root, '.npmrc'), `//${new URL(url).host}/:_authToken=x\n`)
    try {
      using program = new Program(['release', 'publish', '--registry', url], { cwd: ws.root })
      await program.printed(/Checking the work tree/)
      await asked.promise
      program.process.kill(signal)
      assert.equal(await program.ended(), code)
      assert.match(program.stderr, /cancelled before anything was built or published/)
    } finally {
      silent.close()
      silent.closeAllConnections()
    }
  })
}

test('a release of nothing does not take the place of the last one; status counts packages', async () => {
  using ws = new Workspace('1.3.2')
  const where = ['--registry', registry.url]
  const publish = ['release', 'publish', ...where, '--no-smoke']
  assert.equal((await runProgram(publish, { cwd: ws.root })).code, 0)
  const nothing = await runProgram([...publish, '--from', 'commits'], { cwd: ws.root })
  assert.match(nothing.stdout, /Nothing to release/)
  const { stdout } = await runProgram(['release', 'status', ...where], { cwd: ws.root })
  assert.match(stdout, /last release \S+: finished, 2 of 2 packages done\n/)
})

test('a wrong option is named where it was written', async () => {
  using ws = new Workspace('1.3.3')
  const plan = ['release', 'plan', '--offline']
  const flag = await runProgram([...plan, '--exclude', '@cli/nope'], { cwd: ws.root })
  assert.equal(flag.code, 2)
  assert.match(flag.stderr, /It is the flag --exclude\./)
  const format = await runProgram([...plan, '--from', 'commits', '--tag-format', 'rel'], {
    cwd: ws.root,
  })
  assert.equal(format.code, 2)
  assert.match(format.stderr, /It is the flag --tag-format\./)
  ws.write('heddle.release.json', { exclude: ['@cli/nope'] })
  const setting = await runProgram(plan, { cwd: ws.root })
  assert.equal(setting.code, 2)
  assert.match(setting.stderr, /It is `exclude` of the settings file/)
})

test('a dist-tag for versions that are published already is reported, with what sets it', async () => {
  using ws = new Workspace('1.4.0', '@tagged')
  const publish = ['release', 'publish', '--registry', registry.url, '--no-smoke']
  assert.equal((await runProgram(publish, { cwd: ws.root })).code, 0)
  const lacking =
    /left without the dist-tag "next": @tagged\/a@1\.4\.0, @tagged\/b@1\.4\.0\. Set it with: npm dist-tag add @tagged\/a@1\.4\.0 next/
  for (const more of [['--dry-run'], []]) {
    const args = [...publish, '--dist-tag', 'next', ...more]
    const { code, stdout } = await runProgram(args, { cwd: ws.root })
    assert.equal(code, 0, stdout)
    assert.match(stdout, lacking)
  }
  const tagged = await runProgram([...publish, '--dist-tag', 'latest'], { cwd: ws.root })
  assert.doesNotMatch(tagged.stdout, /left without the dist-tag/)
})

test('L4 what the registry has is counted where a release did not come to pack it', async () => {
  using ws = new Workspace('1.4.1')
  const args = ['release', 'publish', '--registry', registry.url, '--no-smoke']
  assert.equal((await runProgram(args, { cwd: ws.root })).code, 0)
  const dependencies = { '@cli/a': 'workspace:^', '@cli/gone': 'workspace:^' }
  ws.write('packages/b/package.json', { name: '@cli/b', version: '1.4.1', dependencies })
  ws.git('commit', '--all', '--quiet', '--message', 'a range that leads nowhere')
  const { code, stdout } = await runProgram(args, { cwd: ws.root })
  assert.equal(code, 1)
  assert.match(stdout, /@cli\/a@1\.4\.1 +already published/)
  assert.match(stdout, /manifest: .*"@cli\/gone"/)
  assert.match(stdout, /2 of 2 packages on the registry/)
})

test('an upload whose answer is lost says at once what is waited for, and until when', async () => {
  using ws = new Workspace('1.4.2')
  await using proxy = await startFaultProxy({
    target: registry.url,
    rules: [{ method: 'PUT', package: '@cli/a', status: 504 }],
  })
  const args = ['release', 'publish', '--registry', proxy.url, '--no-smoke']
  using program = new Program(args, { cwd: ws.root })
  await program.printed(/upload +@cli\/a: upload 1/)
  await program.printed(/upload +@cli\/a: upload attempt failed: .*504/)
  await program.printed(
    /upload +@cli\/a: it may have arrived: looking for it for at most 20 s, until \d\d:\d\d:\d\d\n/,
  )
  program.process.kill('SIGKILL')
  await program.ended()
  assert.doesNotMatch(program.stdout, /upload 2/)
})

test('98 a dry run without builds does not call a package ready that is not built', async () => {
  using ws = new Workspace('1.4.3')
  const fields = { types: 'dist/index.d.ts', files: ['dist'], scripts: { build: 'true' } }
  ws.write('packages/a/package.json', { name: '@cli/a', version: '1.4.3', ...fields })
  ws.git('commit', '--all', '--quiet', '--message', 'a build')
  const args = ['release', 'publish', '--registry', registry.url, '--no-smoke', '--no-build']
  const { code, stdout } = await runProgram([...args, '--dry-run'], { cwd: ws.root })
  assert.match(
    stdout,
    /pack: .*lacks dist\/index\.d\.ts \("types"\), dist \("files"\), .*--no-build/,
  )
  assert.match(stdout, /1 of 2 packages on the registry or ready to be published/)
  assert.equal(code, 1)
  const real = await runProgram(args, { cwd: ws.root })
  assert.equal(real.code, 1)
  assert.match(real.stdout, /@cli\/a@1\.4\.3 +failed/)
})

test('98 what Git ignores and is not there has not been built, also where the build is one of the root', async () => {
  using ws = new Workspace('1.4.4')
  writeFileSync(path.join(ws.root, '.gitignore'), 'dist/\n')
  writeFileSync(path.join(ws.root, 'packages/a/index.js'), '')
  const fields = { main: 'index.js', files: ['index.js', 'dist', 'notes'] }
  ws.write('packages/a/package.json', { name: '@cli/a', version: '1.4.4', ...fields })
  ws.git('add', '--all')
  ws.git('commit', '--quiet', '--message', 'a build of the root')
  const args = ['release', 'publish', '--registry', registry.url, '--no-build', '--dry-run']
  const { code, stdout } = await runProgram(args, { cwd: ws.root })
  assert.equal(code, 1)
  assert.match(stdout, /pack: .*lacks dist \("files"\), and no build runs here \(--no-build\)/)
  mkdirSync(path.join(ws.root, 'packages/a/dist'))
  writeFileSync(path.join(ws.root, 'packages/a/dist/a.js'), '')
  const built = await runProgram(args, { cwd: ws.root })
  assert.equal(built.code, 0, built.stdout)
  assert.match(built.stdout, /lack: @cli\/a: notes \("files"\)\./)
})
