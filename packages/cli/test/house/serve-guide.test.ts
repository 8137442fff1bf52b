import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ConsolePage, patternOf, root } from '../support/console-page.ts'
import { Program } from '../support/program.ts'

const page = new ConsolePage('docs/guide/serve.md')

const hasCurl = /^curl (\d+)\.(\d+)/.exec(
  spawnSync('curl', ['--version'], { encoding: 'utf8' }).stdout,
)
const isRecent = hasCurl !== null && Number(hasCurl[1]) * 100 + Number(hasCurl[2]) >= 782
const skip = isRecent ? false : 'curl 7.82 or newer is needed'

test('docs/guide/serve.md: every curl gets the answer printed below it', { skip }, async (t) => {
  // Below the checkout, where the packages can be imported by name.
  const folder = mkdtempSync(path.join(root, '.doctest-serve-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const fences = page.fences('jobs.ts')
  assert.equal(fences.length, 3)
  writeFileSync(path.join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(path.join(folder, 'jobs.ts'), fences.join('\n'))

  // Uses a fixed number of threads: the page must not depend on the machine of its reader.
  using program = new Program(['serve', '--port', '0', '--threads', '2'], { cwd: folder })
  const [, url] = await program.printed(
    /serving +3 jobs on (\S+): nap, square, words; 1 graph: report; 1 schedule: monthly; store/,
  )
  const typed = page.commands
  assert.ok(typed.length >= 20, `${typed.length} commands`)
  for (const { line, output } of typed) {
    assert.match(line, /curl /)
    const own = line.replaceAll('http://127.0.0.1:4500', url!)
    const { stdout } = await promisify(execFile)('sh', ['-c', own], { encoding: 'utf8' })
    assert.match(stdout, patternOf(output), line)
  }
  assert.equal(await program.ended(), 1)
  assert.match(
    program.stdout,
    /draining +\(POST \/drain\): \d+ results under way, 0 requests waiting; at most 500 ms/,
  )
  assert.match(program.stdout, /stopped +work was cut off; acknowledged jobs run after/)

  using again = new Program(['serve', '--port', '0'], { cwd: folder })
  await again.printed(/log +Resuming \d+ acknowledged requests from the last run\./)
})
