/** Every flag of every subcommand of `heddle release` is used, or refused by name. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { Command } from 'commander'
import {
  findIdleFlag,
  releaseCommands,
  releaseFlags,
  typedFlags,
  withReleaseFlags,
  type FlagContext,
  type Idle,
  type ReleaseCommand,
} from '../../src/release/release-flags.ts'
import { releaseCommand } from '../../src/commands/release.ts'
import { exitCodes } from '../../src/exit-codes.ts'
import { answering } from '../../src/release/answering.ts'
import { runProgram } from '../support/program.ts'
import { FlowRepository } from './flow-kit.ts'

/** A registry that has nothing. */
const empty = http.createServer((_, response) => {
  response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}')
})
let url = ''
before(async () => {
  await once(empty.listen(0, '127.0.0.1'), 'listening')
  url = `http://127.0.0.1:${(empty.address() as AddressInfo).port}`
})
after(() => empty.close())

/** `a ← b` with one commit to release, and a remote that has it. */
function repository(): FlowRepository {
  const repo = new FlowRepository(url)
  repo.write('package.json', { private: true, workspaces: ['packages/*'] })
  repo.write('packages/a/package.json', { name: '@flags/a', version: '1.0.0' })
  const dependencies = { '@flags/a': 'workspace:^' }
  repo.write('packages/b/package.json', { name: '@flags/b', version: '1.0.0', dependencies })
  repo.commit('feat: begin')
  return repo
}

/** `--long` of every flag of a subcommand, with its rule. */
function flagsOf(
  command: ReleaseCommand,
): Map<string, (typeof releaseFlags)[number]['on']['plan']> {
  const found = releaseFlags.filter(({ on }) => on[command] !== undefined)
  return new Map(found.map(({ option, on }) => [option(command).long!, on[command]]))
}

const isNever = (use: unknown): use is Idle => typeof use === 'object'

test('FL1 each subcommand has the flags of the table and no others', () => {
  const commands = releaseCommand().commands
  assert.deepEqual(
    commands.map((command) => command.name()),
    [...releaseCommands],
  )
  for (const command of commands) {
    const flags = flagsOf(command.name() as ReleaseCommand)
    assert.deepEqual(
      command.options.map(({ long }) => long),
      [...flags.keys()],
    )
    for (const { long, hidden } of command.options)
      assert.equal(hidden, isNever(flags.get(long!)), `${command.name()} ${long}`)
  }
})

interface Run {
  readonly args: readonly string[]
  readonly code?: number
  readonly says?: RegExp
}

const words = (text: string): string[] => text.split(/\s+/)
const all = (more: string): string[] =>
  words(
    `--from commits --ecosystem npm --preid rc --lockstep --tag-format v{version} --include @flags/a --exclude @flags/b --no-color ${more}`,
  )
const places = (): string => `--registry ${url} --pypi ${url}`

/** Together they have every flag that can have an effect. */
const runs: Readonly<Record<ReleaseCommand, () => readonly Run[]>> = {
  plan: () => [
    { args: all(`${places()} --dist-tag next --format csv`) },
    { args: words(`--snapshot pr-1 --json ${places()}`) },
    { args: words('--canary nightly --offline') },
  ],
  version: () => [
    { args: all('--dry-run --no-changelog --message text --json') },
    { args: words('--from commits --no-commit --dry-run') },
  ],
  publish: () => [
    {
      args: all(`${places()} --dist-tag next --dry-run --concurrency 2 --retries 1 --timeout 60s
        --visibility 60s --gate accepted --staged --pin in-place --build build --ignore-scripts
        --no-smoke --push origin --lease origin --otp 123456 --branch main`),
    },
    {
      args: words(`--snapshot pr-1 --dry-run --no-build --no-tag --no-lease --no-notes --allow-dirty
        --allow-unpushed --json ${places()}`),
    },
    { args: words(`--canary nightly --dry-run ${places()}`) },
    // Its remote is a folder: that has no releases with notes, and a dry run says so.
    { args: words(`--notes github --dry-run ${places()}`), code: 2, says: /notes: / },
  ],
  status: () => [
    { args: all(`${places()} --dist-tag next`), code: 1 },
    { args: words(`--snapshot pr-1 --json ${places()}`), code: 1 },
    { args: words(`--canary nightly ${places()}`), code: 1 },
  ],
  rollback: () => [
    {
      args: words(
        `--yes --ecosystem npm --include @flags/a --exclude @flags/b --message no --json --no-color ${places()}`,
      ),
    },
  ],
}

for (const command of releaseCommands) {
  test(`FL2 ${command} uses every flag that it shows in its help`, async () => {
    using repo = repository()
    using remote = new FlowRepository(url)
    remote.git('config', 'receive.denyCurrentBranch', 'ignore')
    repo.git('remote', 'add', 'origin', remote.root)
    repo.git('push', '--quiet', 'origin', 'main')
    const tried = new Set<string>()
    for (const { args, code = 0, says = /(?:)/ } of runs[command]()) {
      const ended = await runProgram(['release', command, ...args], { cwd: repo.root })
      assert.equal(ended.code, code, `${args.join(' ')}\n${ended.stdout}${ended.stderr}`)
      assert.match(ended.stderr, says)
      assert.doesNotMatch(ended.stderr, /no effect/)
      for (const each of args) if (each.startsWith('--')) tried.add(each)
    }
    const shown = [...flagsOf(command)].filter(([, use]) => !isNever(use))
    assert.deepEqual(tried, new Set(shown.map(([flag]) => flag)))
  })
}

const here = { from: undefined, isRepository: true }
const commits = { from: 'commits', isRepository: true } as const
const noRepository = { from: undefined, isRepository: false }

/** What has no effect: the arguments, what is known, and the flag that is refused. */
const idle: Readonly<
  Record<
    ReleaseCommand,
    readonly (readonly [args: string, context: Omit<FlagContext, 'flags'>, flag: string])[]
  >
> = {
  plan: [
    ['--offline --registry http://x', here, '--registry'],
    ['--offline --pypi http://x', here, '--pypi'],
    ['--preid rc', here, '--preid'],
    ['--preid rc --snapshot', commits, '--preid'],
    ['--lockstep', here, '--lockstep'],
    ['--tag-format v{version}', here, '--tag-format'],
    ['--format csv --json', here, '--format'],
  ],
  version: [
    ['--from manifests', here, '--from'],
    ['--from publish-plan', here, '--from'],
    ['--registry http://x', here, '--registry'],
    ['--pypi http://x', here, '--pypi'],
    ['--preid rc', here, '--preid'],
    ['--dist-tag next', commits, '--dist-tag'],
    ['--snapshot', commits, '--snapshot'],
    ['--canary', commits, '--canary'],
    ['--lockstep', here, '--lockstep'],
    ['--tag-format v{version}', noRepository, '--tag-format'],
    ['--no-commit --message text', here, '--message'],
    ['--message text', noRepository, '--message'],
  ],
  publish: [
    ['--preid rc', here, '--preid'],
    ['--preid rc --canary', commits, '--preid'],
    ['--lockstep', here, '--lockstep'],
    ['--tag-format v{version} --no-tag', here, '--tag-format'],
    ['--tag-format v{version} --snapshot', here, '--tag-format'],
    ['--push --no-tag', here, '--push'],
    ['--push --snapshot', here, '--push'],
    ['--push', noRepository, '--push'],
    ['--lease origin', noRepository, '--lease'],
    ['--notes github --no-tag', here, '--notes'],
    ['--notes github --canary', here, '--notes'],
    ['--branch main', noRepository, '--branch'],
  ],
  status: [
    ['--preid rc', here, '--preid'],
    ['--lockstep', here, '--lockstep'],
    ['--tag-format v{version} --snapshot', here, '--tag-format'],
    ['--tag-format v{version}', noRepository, '--tag-format'],
  ],
  rollback: [],
}

for (const command of releaseCommands) {
  test(`FL2 ${command} refuses flags that can have no effect, and says what to type instead`, () => {
    const refused = new Set<string>()
    for (const [args, context, flag] of idle[command]) {
      const parsed = withReleaseFlags(new Command(command)).exitOverride()
      parsed.parse(args.split(' '), { from: 'user' })
      const found = findIdleFlag(typedFlags(parsed.opts(), parsed), context)
      assert.equal(found?.flag, flag, args)
      assert.ok(found.why.length > 0 && found.instead.length > 0)
      refused.add(flag)
    }
    const conditional = [...flagsOf(command)].filter(([, use]) => use !== 'used')
    assert.deepEqual(refused, new Set(conditional.map(([flag]) => flag)))
  })
}

for (const [flag, ...value] of [
  ['--preid', 'rc'],
  ['--lockstep'],
  ['--registry', 'http://127.0.0.1:1'],
  ['--dist-tag', 'next'],
] as const) {
  test(`version refuses ${flag} where it has no effect, with exit code 2`, async () => {
    using repo = repository()
    const args = ['release', 'version', '--dry-run', flag, ...value]
    const { code, stdout, stderr } = await runProgram(args, { cwd: repo.root })
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.match(
      stderr,
      new RegExp(
        `^heddle: ${flag} would have no effect in \`heddle release version\`: .+Instead, `,
      ),
    )
    assert.match(stderr, /\[HDL_FLAG_UNUSED\]/)
  })
}

test('--no-build, --build: positive and negative form are one flag, and a default is not typed', () => {
  const parsed = withReleaseFlags(new Command('publish'))
  parsed.parse(['--no-lease'], { from: 'user' })
  const typed = typedFlags(parsed.opts(), parsed)
  assert.deepEqual([...typed.given], ['lease'])
  assert.equal(findIdleFlag(typed, noRepository), undefined)
})

test('a flag that a command did not read is reported', async (t) => {
  const said: string[] = []
  t.mock.method(process.stderr, 'write', (text: string, done?: () => void) => {
    said.push(text)
    done?.()
    return true
  })
  const { exitCode } = process
  t.after(() => {
    process.exitCode = exitCode
  })
  const flags = { color: true, include: ['a'], distTag: 'next' }
  const given = new Set(['include', 'distTag'])
  await answering({ command: 'plan', flags, given }, async (answer) => {
    assert.deepEqual(answer.flags.include, ['a'])
    return exitCodes.ok
  })
  t.mock.restoreAll()
  assert.match(said.join(''), /heddle: --dist-tag had no effect on what was done\n/)
  assert.doesNotMatch(said.join(''), /--include/)
})
