/** The pages of docs/start, and guides with commands, are followed as they are printed. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import {
  ConsolePage,
  linePatternOf,
  patternOf,
  root,
  type TypedCommand,
} from '../support/console-page.ts'
import { cleanEnv, launcher, Program, runProgram } from '../support/program.ts'

const [, major, minor] =
  /^curl (\d+)\.(\d+)/.exec(spawnSync('curl', ['--version'], { encoding: 'utf8' }).stdout) ?? []
const skip = Number(major) * 100 + Number(minor) >= 782 ? false : 'curl 7.82 or newer is needed'

/** A folder below the checkout, where the packages can be imported by name, with one file of the page. */
function folderOf(t: TestContext, page: ConsolePage, file: string): string {
  const folder = mkdtempSync(path.join(root, '.doctest-start-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const fences = page.fences(file)
  assert.equal(fences.length, 1, file)
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(path.join(folder, file), fences[0]!)
  return folder
}

/** Types the commands of a page that ask the server at `url`. */
async function typeCurls(page: ConsolePage, url: string): Promise<void> {
  assert.ok(page.commands.length > 0)
  for (const command of page.commands) await type(command, { url })
}

/** Types one command in a folder, and compares the output. */
async function type(
  { line, output }: TypedCommand,
  { url = '', cwd }: { readonly url?: string; readonly cwd?: string },
): Promise<void> {
  const own = line
    .replaceAll('http://127.0.0.1:4500', url)
    .replaceAll('npx heddle', `'${process.execPath}' '${launcher}'`)
  const options = { encoding: 'utf8', env: cleanEnv(), ...(cwd !== undefined && { cwd }) } as const
  const { stdout } = await promisify(execFile)('sh', ['-c', own], options)
  assert.match(stdout, patternOf(output), line)
}

test('docs/start/first-graph.md: the graph runs and prints the output on the page', async (t) => {
  const page = new ConsolePage('docs/start/first-graph.md')
  const cwd = folderOf(t, page, 'graph.ts')
  assert.equal(page.commands.length, 2)
  for (const { line, output } of page.commands) {
    const [, args] = /^npx heddle (.+)$/.exec(line) ?? []
    const { code, stdout, stderr } = await runProgram(args!.split(' '), { cwd })
    assert.equal(code, 0, stderr)
    for (const expected of output) assert.match(stdout, linePatternOf(expected), line)
  }
})

test(
  'docs/start/first-service.md: every curl gets the answer printed below it',
  { skip },
  async (t) => {
    const page = new ConsolePage('docs/start/first-service.md')
    const cwd = folderOf(t, page, 'jobs.ts')
    using program = new Program(['serve', '--jobs', 'jobs.ts', '--port', '0'], { cwd })
    const [, url] = await program.printed(/serving +1 job on (\S+): add; store sqlite/)
    await typeCurls(page, url!)
  },
)

test('docs/start/first-fleet.md: a worker runs the job that curl submits', { skip }, async (t) => {
  const page = new ConsolePage('docs/start/first-fleet.md')
  const cwd = folderOf(t, page, 'jobs.ts')
  using program = new Program(['serve', '--jobs', 'jobs.ts', '--port', '0'], { cwd })
  const [, url] = await program.printed(/serving +1 job on (\S+): add; store sqlite/)
  using worker = new Program(['work', '--server', url!, '--jobs', 'jobs.ts', '--json'], { cwd })
  await worker.printed(/"type":"connected"/)
  await typeCurls(page, url!)
  worker.process.kill('SIGTERM')
  assert.equal(await worker.ended(), 0)
})

test('docs/guide/people.md: users and tokens are added, and refused', { skip }, async (t) => {
  const page = new ConsolePage('docs/guide/people.md')
  const cwd = folderOf(t, new ConsolePage('docs/start/first-service.md'), 'jobs.ts')
  const isCurl = ({ line }: TypedCommand): boolean => line.startsWith('curl ')
  const before = page.commands.filter((command) => !isCurl(command))
  assert.equal(before.length, 4)
  for (const command of before) await type(command, { cwd })
  using program = new Program(['serve', '--jobs', 'jobs.ts', '--port', '0'], { cwd })
  const [, url] = await program.printed(/serving +1 job on (\S+): add; store sqlite/)
  for (const command of page.commands.filter(isCurl)) await type(command, { url: url!, cwd })
})

test('docs/guide/campaigns.md: a worker does the units of both campaigns', { skip }, async (t) => {
  const page = new ConsolePage('docs/guide/campaigns.md')
  const cwd = folderOf(t, page, 'jobs.ts')
  using program = new Program(['serve', '--jobs', 'jobs.ts', '--port', '0'], { cwd })
  const [, url] = await program.printed(/serving +2 jobs on (\S+): dice, sample; store sqlite/)
  const [dice, mean, list] = page.commands
  for (const command of [dice!, mean!]) await type(command, { url: url! })
  const work = ['work', '--server', url!, '--jobs', 'jobs.ts', '--exit-when-idle', '--json']
  const { code, stderr } = await runProgram(work, { cwd })
  assert.equal(code, 0, stderr)
  await type(list!, { url: url! })
})
