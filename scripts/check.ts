/**
 * Everything a machine can say about the code without running it: `npm run check`.
 *
 * All steps run and all findings are shown, so that one round of repairs is enough.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { publicPackages, runNode, runNpm, runTool, type ToolResult } from './tool.ts'

type Step = readonly [name: string, action: () => Promise<ToolResult>]

async function show([name, action]: Step): Promise<boolean> {
  const started = performance.now()
  const { ok, output } = await action()
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`${name.padEnd(8)} ${ok ? 'ok    ' : 'FAILED'} ${seconds.padStart(5)} s`)
  if (!ok) console.log(`${output.trim()}\n`)
  return ok
}

/** Looks at each package as its users get it: packed, not as it lies here. */
async function checkPacked(folder: string): Promise<ToolResult> {
  const temporary = mkdtempSync(path.join(os.tmpdir(), 'heddle-pack-'))
  try {
    const packed = await runNpm(
      ['pack', '--json', '--loglevel=error', '--pack-destination', temporary],
      { cwd: folder },
    )
    if (!packed.ok) return packed
    const tarball = path.join(temporary, readdirSync(temporary)[0]!)
    const results = [
      await runTool('publint', ['run', tarball, '--strict']),
      await runTool('attw', [tarball, '--profile', 'esm-only', '--no-emoji', '--no-color']),
    ]
    return {
      ok: results.every((result) => result.ok),
      output: results.map((result) => (result.ok ? '' : result.output)).join('\n'),
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

/** Pages that are written from the code. */
async function checkPages(): Promise<ToolResult> {
  const results = [
    await runNode(['scripts/docs-errors.ts', '--check']),
    await runNode(['scripts/docs-rules.ts', '--check']),
    await runNode(['scripts/docs-inventory.ts', '--check']),
    await runNode(['--conditions=heddle-source', 'scripts/docs-http.ts', '--check']),
    await runNode(['scripts/docs-decisions.ts', '--check']),
    await runNode(['site/api.ts', '--check']),
    await runNode(['scripts/docs-llms.ts', '--check']),
    await runNode(['scripts/docs-bench.ts', '--check']),
  ]
  return {
    ok: results.every((result) => result.ok),
    output: results.map((result) => result.output).join(''),
  }
}

// Types come first because they write the files that are packed.
const types: Step = ['types', () => runTool('tsc', ['-b'])]
// The server is packed with the dashboard.
const ui: Step = [
  'ui',
  () => runNode(['packages/ui/build/build.ts', '--to', 'packages/server/dist/site']),
]
const others: Step[] = [
  ['lint', () => runTool('oxlint', ['--type-aware', '--format=unix'])],
  ['format', () => runTool('oxfmt', ['--check'])],
  ['docs', () => checkPages()],
  ['unused', () => runTool('knip', ['--no-progress'])],
  // Our own code has to be as clean as we ask of others: heddle-analyze.json has the settings.
  ['races', () => runNode(['packages/cli/bin/heddle.js', 'analyze', 'packages/'])],
  ...publicPackages().map((folder): Step => [path.basename(folder), () => checkPacked(folder)]),
]

let ok = await show(types)
ok = (await show(ui)) && ok
for (const step of others) ok = (await show(step)) && ok
process.exitCode = ok ? 0 : 1
