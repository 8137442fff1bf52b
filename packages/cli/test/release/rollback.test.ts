import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { holdLock } from '@heddle/core/lowlevel'
import { startFaultProxy, startVerdaccio, type Verdaccio } from '@heddle/release/testing'
import { until } from '../../../core/test/kernel/until.ts'
import { Program, runProgram } from '../support/program.ts'

let registry: Verdaccio
before(async () => {
  registry = await startVerdaccio()
})
after(() => registry.close())

/** One package in a repository. */
class Single implements Disposable {
  readonly root = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'heddle-rollback-')))
  readonly #name: string

  constructor(name: string) {
    this.#name = name
    this.git('init', '--quiet')
    this.version('1.0.0')
  }

  version(version: string): void {
    const manifest = { name: this.#name, version }
    writeFileSync(path.join(this.root, 'package.json'), JSON.stringify(manifest))
    this.git('add', '--all')
    this.git('commit', '--quiet', '--message', version)
  }

  git(...args: string[]): void {
    const identity = ['-c', 'user.name=Somebody', '-c', 'user.email=somebody@example.com']
    execFileSync('git', [...identity, ...args], { cwd: this.root })
  }

  run(command: string, url: string, ...args: string[]): ReturnType<typeof runProgram> {
    return runProgram(['release', command, '--registry', url, ...args], { cwd: this.root })
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}

test('where nothing was released there is nothing to roll back', async () => {
  using single = new Single('back-none')
  const { code, stdout } = await single.run('rollback', registry.url, '--yes')
  assert.equal(code, 0)
  assert.match(stdout, /No release that uploaded something is recorded here/)
})

test('a step that fails: exit code 1, and the next call does the remaining steps', async () => {
  using single = new Single('back-one')
  await single.run('publish', registry.url, '--no-smoke')
  single.version('1.1.0')
  await single.run('publish', registry.url, '--no-smoke')
  await using proxy = await startFaultProxy({
    target: registry.url,
    rules: [{ method: 'PUT', path: /back-one$/, status: 403 }],
  })
  const unclear = await single.run('rollback', proxy.url, '--yes')
  assert.equal(unclear.code, 2)
  const [, id = ''] = /^ +(\S+) .*back-one@1\.1\.0/m.exec(unclear.stderr) ?? []
  const failed = await single.run('rollback', proxy.url, id, '--yes')
  assert.equal(failed.code, 1, failed.stdout)
  assert.match(
    failed.stdout,
    /HDL_REGISTRY_AUTH[^]*Run the same command again for the remaining steps/,
  )
  const rest = await single.run('rollback', registry.url, id, '--yes')
  assert.equal(rest.code, 0)
  assert.match(rest.stdout, /\ndeprecate back-one@1\.1\.0: .*\n1 step done/)
  const nothing = await single.run('rollback', registry.url, id, '--yes')
  assert.match(nothing.stdout, /There is nothing left to roll back/)
})

test('while a release is running nothing is rolled back', async () => {
  using single = new Single('back-two')
  const file = path.join(single.root, '.git', 'heddle', 'release.lock')
  mkdirSync(path.dirname(file), { recursive: true })
  await using _lock = await holdLock(file, { command: 'heddle release publish' })
  const { code, stderr } = await single.run('rollback', registry.url, '--yes')
  assert.equal(code, 2)
  assert.match(stderr, /HDL_LOCKED/)
})

test('B3 a release that was killed in an upload that the registry accepted can be rolled back', async () => {
  using single = new Single('back-three')
  const rules = [{ method: 'PUT', afterCommit: true, hang: true, times: 1 }]
  await using proxy = await startFaultProxy({ target: registry.url, rules })
  const args = ['release', 'publish', '--registry', proxy.url, '--no-smoke']
  using program = new Program(args, { cwd: single.root })
  await program.printed(/upload 1 of/)
  await until(async () => (await fetch(`${registry.url}/back-three/1.0.0`)).ok)
  program.process.kill('SIGKILL')
  await program.ended()
  const status = await single.run('status', registry.url)
  assert.equal(status.code, 0)
  assert.match(status.stdout, /published, no Git tag[^]*interrupted, 0 of 1 package done/)
  assert.doesNotMatch(status.stdout, /under way/)
  const { stdout } = await single.run('rollback', registry.url)
  assert.match(stdout, /would deprecate back-three@1\.0\.0/)
})

test('B3 a release whose uploads were refused, or did not arrive, is not one to roll back', async () => {
  using single = new Single('back-four')
  const refuses = [{ method: 'PUT', status: 403 }]
  await using refusing = await startFaultProxy({ target: registry.url, rules: refuses })
  assert.equal((await single.run('publish', refusing.url, '--no-smoke')).code, 1)
  single.version('1.1.0')
  const hangs = [{ method: 'PUT', hang: true }]
  await using hanging = await startFaultProxy({ target: registry.url, rules: hangs })
  const args = ['release', 'publish', '--registry', hanging.url, '--no-smoke']
  using program = new Program(args, { cwd: single.root })
  await program.printed(/upload 1 of/)
  program.process.kill('SIGKILL')
  await program.ended()
  const none = await single.run('rollback', registry.url)
  assert.equal(none.code, 0)
  assert.match(none.stdout, /No release that uploaded something is recorded here/)
  single.version('1.2.0')
  assert.equal((await single.run('publish', registry.url, '--no-smoke')).code, 0)
  // The only one that uploaded something needs no id.
  const { code, stdout } = await single.run('rollback', registry.url)
  assert.equal(code, 0)
  assert.match(stdout, /would deprecate back-four@1\.2\.0/)
})
