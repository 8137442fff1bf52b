import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { root } from './tree.ts'

/*
 * scripts/setup.mjs in a small repository of its own. npm is replaced by a program that does what
 * npm does to the file system and writes down how it was called: the network is not under test.
 */

const version = process.versions.node

/** Stands in for npm-cli.js. It can be made to be slow, to fail, and not to run install scripts. */
const fakeNpm = `
import fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
const command = process.argv[2]
const script = (process.env.FAKE_NPM ?? '').split(',')
fs.appendFileSync('calls.txt', command + '\\n')
if (script.includes('out-of-sync') && command === 'ci') {
  console.error('npm error code EUSAGE: package.json and package-lock.json are not in sync')
  process.exit(1)
}
if (script.includes('broken')) {
  console.error('npm error network unreachable')
  process.exit(1)
}
if (command === 'ci') fs.rmSync('node_modules', { recursive: true, force: true })
fs.mkdirSync('node_modules/node/bin', { recursive: true })
if (script.includes('slow')) {
  fs.writeFileSync('started', '')
  while (!fs.existsSync('go')) await sleep(5)
}
const link = () => {
  fs.mkdirSync('bin', { recursive: true })
  fs.rmSync('bin/node', { force: true })
  fs.symlinkSync(process.execPath, 'bin/node')
}
fs.writeFileSync(
  'node_modules/node/installArchSpecificPackage.js',
  'const fs = require("node:fs");fs.appendFileSync("../../calls.txt", "node\\\\n");(' + link + ')()',
)
if (!script.includes('blocked')) {
  process.chdir('node_modules/node')
  link()
  process.chdir('../..')
}
fs.copyFileSync('package-lock.json', 'node_modules/.package-lock.json')
`

class Repository {
  readonly folder = mkdtempSync(path.join(os.tmpdir(), 'heddle-setup-'))

  constructor(t: TestContext) {
    t.after(() => rmSync(this.folder, { recursive: true, force: true }))
    mkdirSync(this.path('scripts'))
    copyFileSync(path.join(root, 'scripts/setup.mjs'), this.path('scripts/setup.mjs'))
    this.write('npm-cli.js', fakeNpm)
    this.manifest({ node: version })
    const locked = { '': { devDependencies: { node: version } }, 'node_modules/node': { version } }
    this.write('package-lock.json', JSON.stringify({ packages: locked }))
    this.write(
      'main.ts',
      'const answer: number = 42\nconsole.log("ran", answer, process.argv.slice(2))',
    )
  }

  path(name: string): string {
    return path.join(this.folder, name)
  }

  write(name: string, text: string): void {
    writeFileSync(this.path(name), text)
  }

  manifest(devDependencies: Record<string, string>): void {
    this.write('package.json', JSON.stringify({ type: 'module', workspaces: [], devDependencies }))
  }

  get calls(): string[] {
    if (!existsSync(this.path('calls.txt'))) return []
    return readFileSync(this.path('calls.txt'), 'utf8').trim().split('\n')
  }

  /** Waits until this file is there. */
  async has(name: string): Promise<void> {
    while (!existsSync(this.path(name))) await new Promise((next) => setImmediate(next))
  }

  start(args: readonly string[] = ['main.ts'], script = ''): Running {
    return new Running(this, args, script)
  }

  run(args?: readonly string[], script?: string): Promise<Running> {
    return this.start(args, script).ended
  }
}

class Running {
  stdout = ''
  stderr = ''
  code: number | null = null
  signal: NodeJS.Signals | null = null
  readonly child: ChildProcess
  readonly ended: Promise<Running>

  constructor(repository: Repository, args: readonly string[], script: string) {
    this.child = spawn(process.execPath, ['scripts/setup.mjs', ...args], {
      cwd: repository.folder,
      // Its own session: no terminal, so that a Ctrl-C in the terminal of the tests stays there.
      detached: true,
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        FAKE_NPM: script,
        npm_execpath: repository.path('npm-cli.js'),
      },
    })
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stdout += text))
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
    this.ended = new Promise((resolve) => {
      this.child.on('close', (code, signal) => {
        this.code = code
        this.signal = signal
        resolve(this)
      })
    })
  }

  /** Waits until it has printed this. */
  async printed(text: string): Promise<void> {
    while (!this.stdout.includes(text) && !this.stderr.includes(text)) {
      await Promise.race([
        new Promise((next) => this.child.stdout!.once('data', next)),
        new Promise((next) => this.child.stderr!.once('data', next)),
        this.ended.then(() => assert.fail(`it ended without printing ${text}: ${this.stderr}`)),
      ])
    }
  }
}

const options = { skip: process.platform === 'win32' && 'the stand-in for npm uses symbolic links' }

test(
  'S1: a fresh clone is installed once, with one line on stderr, and then not again',
  options,
  async (t) => {
    const repository = new Repository(t)
    const first = await repository.run(['main.ts', 'a', 'b c'])
    assert.equal(first.stdout, "ran 42 [ 'a', 'b c' ]\n")
    assert.match(first.stderr, /^heddle: installing dependencies \(nothing is installed yet\).*\n$/)
    const second = await repository.run()
    assert.deepEqual([second.stdout, second.stderr], ['ran 42 []\n', ''])
    assert.deepEqual(repository.calls, ['ci'])
  },
)

test('S1: packages that changed since are installed over the existing ones', options, async (t) => {
  const repository = new Repository(t)
  await repository.run()
  await t.test('a changed package.json', async () => {
    repository.manifest({ node: version, other: '1.0.0' })
    const { stderr } = await repository.run()
    assert.match(stderr, /package\.json has changed/)
    assert.deepEqual(repository.calls, ['ci', 'install'])
    repository.manifest({ node: version })
  })
  await t.test('a package that is gone', async () => {
    rmSync(repository.path('node_modules/node'), { recursive: true })
    const { stderr, stdout } = await repository.run()
    assert.match(stderr, /node_modules\/node is missing/)
    assert.equal(stdout, 'ran 42 []\n')
  })
  await t.test('another version in the lock', async () => {
    const lock = readFileSync(repository.path('package-lock.json'), 'utf8')
    repository.write(
      'package-lock.json',
      lock.replace('{"version":', '{"integrity":"x","version":'),
    )
    const { stderr } = await repository.run()
    assert.match(stderr, /node_modules\/node has another version/)
  })
})

test('S1: a lock that does not match falls back to npm install and says so', options, async (t) => {
  const repository = new Repository(t)
  const { stdout, stderr } = await repository.run(undefined, 'out-of-sync')
  assert.equal(stdout, 'ran 42 []\n')
  assert.match(stderr, /package-lock\.json does not match package\.json/)
  assert.deepEqual(repository.calls, ['ci', 'install'])
})

test('S1: when npm fails its words are shown and nothing runs', options, async (t) => {
  const repository = new Repository(t)
  const { stdout, stderr, code } = await repository.run(undefined, 'broken')
  assert.deepEqual([stdout, code], ['', 1])
  assert.match(stderr, /npm could not install.*\nnpm error network unreachable/)
  assert.equal(existsSync(repository.path('.setup-lock')), false)
})

test('the pinned Node is fetched where install scripts are blocked', options, async (t) => {
  const repository = new Repository(t)
  const { stdout, stderr } = await repository.run(undefined, 'blocked')
  assert.equal(stdout, 'ran 42 []\n')
  assert.match(stderr, /fetching Node .*its install script did not run/)
  assert.deepEqual(repository.calls, ['ci', 'node'])
})

test('a broken pinned Node is fetched again', options, async (t) => {
  const repository = new Repository(t)
  await repository.run()
  const binary = repository.path('node_modules/node/bin/node')
  rmSync(binary)
  writeFileSync(binary, '#!/bin/sh\nexit 1\n')
  chmodSync(binary, 0o755)
  const { stdout } = await repository.run()
  assert.equal(stdout, 'ran 42 []\n')
  assert.deepEqual(repository.calls, ['ci', 'node'])
})

test(
  'S2: if several start at once, one installs and the others wait for it',
  options,
  async (t) => {
    const repository = new Repository(t)
    const first = repository.start(undefined, 'slow')
    await first.printed('installing')
    const others = [repository.start(), repository.start()]
    await Promise.all(others.map((other) => other.printed('waiting for another setup')))
    repository.write('go', '')
    for (const run of await Promise.all([first.ended, ...others.map(({ ended }) => ended)])) {
      assert.equal(run.stdout, 'ran 42 []\n')
    }
    assert.deepEqual(repository.calls, ['ci'])
    assert.equal(existsSync(repository.path('.setup-lock')), false)
  },
)

test(
  'S2: the lock of a dead process, and one that was not renewed, are taken over',
  options,
  async (t) => {
    const dead = spawnSync(process.execPath, ['-e', '']).pid
    for (const owner of [
      { pids: [dead], host: os.hostname() },
      { pids: [process.pid], host: 'elsewhere' },
    ]) {
      const repository = new Repository(t)
      mkdirSync(repository.path('.setup-lock'))
      repository.write('.setup-lock/owner.json', JSON.stringify(owner))
      utimesSync(repository.path('.setup-lock'), 1, 1)
      const { stdout } = await repository.run()
      assert.equal(stdout, 'ran 42 []\n')
      assert.deepEqual(repository.calls, ['ci'])
    }
  },
)

test('S3: an install that was interrupted is done again from nothing', options, async (t) => {
  const repository = new Repository(t)
  await repository.run()
  repository.manifest({ node: version, other: '1.0.0' })
  const interrupted = repository.start(undefined, 'slow')
  await repository.has('started')
  interrupted.child.kill('SIGTERM')
  const { code, stdout } = await interrupted.ended
  assert.deepEqual([code, stdout], [143, ''])
  assert.equal(existsSync(repository.path('.setup-lock')), false)
  repository.manifest({ node: version })
  const { stderr } = await repository.run()
  assert.match(stderr, /the last install was interrupted/)
  assert.deepEqual(repository.calls.at(-1), 'ci')
})

test('S4: exit code, signals and standard input pass through', options, async (t) => {
  const repository = new Repository(t)
  repository.write('code.ts', 'process.exit(7)')
  assert.equal((await repository.run(['code.ts'])).code, 7)

  repository.write('killed.ts', 'process.kill(process.pid, "SIGKILL")')
  assert.equal((await repository.run(['killed.ts'])).signal, 'SIGKILL')

  repository.write('input.ts', 'for await (const chunk of process.stdin) console.log(`${chunk}`)')
  const reading = repository.start(['input.ts'])
  reading.child.stdin!.end('hello')
  assert.equal((await reading.ended).stdout, 'hello\n')

  repository.write(
    'signals.ts',
    `for (const name of ['SIGINT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2', 'SIGHUP']) process.on(name, (signal) => console.log(signal))
     process.stdin.resume().on('end', () => process.exit(0))
     console.log('ready')`,
  )
  const waiting = repository.start(['signals.ts'])
  await waiting.printed('ready')
  for (const signal of ['SIGINT', 'SIGUSR1', 'SIGUSR2', 'SIGHUP', 'SIGTERM'] as const) {
    waiting.child.kill(signal)
    await waiting.printed(signal)
  }
  waiting.child.stdin!.end()
  const { stdout } = await waiting.ended
  assert.equal(stdout, 'ready\nSIGINT\nSIGUSR1\nSIGUSR2\nSIGHUP\nSIGTERM\n', 'each once')
})

test('S4: threads and child processes see the sources', options, async (t) => {
  const repository = new Repository(t)
  repository.write(
    'main.ts',
    `import { Worker } from 'node:worker_threads'
     import { spawnSync } from 'node:child_process'
     const show = 'console.log(process.env.NODE_OPTIONS, process.version)'
     process.stdout.write(spawnSync('node', ['-e', show]).stdout)
     new Worker(show, { eval: true })`,
  )
  const { stdout } = await repository.run()
  const line = `--conditions=heddle-source ${process.version}\n`
  assert.equal(stdout, line + line)
})
