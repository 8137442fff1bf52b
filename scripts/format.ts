/** Writes generated files: layout, safe lint repairs, generated pages. `npm run format` */
import { runNode, runTool } from './tool.ts'

for (const result of [
  await runNode(['scripts/docs-errors.ts']),
  await runNode(['scripts/docs-rules.ts']),
  await runNode(['scripts/docs-inventory.ts']),
  await runNode(['--conditions=heddle-source', 'examples/races/readmes.ts']),
  await runNode(['--conditions=heddle-source', 'scripts/docs-http.ts']),
  await runNode(['scripts/docs-bench.ts']),
  await runNode(['scripts/docs-decisions.ts']),
  await runNode(['site/api.ts']),
  await runNode(['scripts/docs-llms.ts']),
  await runTool('oxlint', ['--fix', '--quiet', '--silent']),
  await runTool('oxfmt', []),
]) {
  process.stdout.write(result.output)
}
