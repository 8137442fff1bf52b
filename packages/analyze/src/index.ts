/** Finds the places where async code races or blocks the event loop. */
export { analyze } from './analyze.ts'
export type {
  Analysis,
  AnalysedFile,
  AnalysisStats,
  AnalyzeOptions,
  Diagnostic,
  ProgramAnalysis,
} from './analysis.ts'
export { findingClasses, levels } from './finding.ts'
export type {
  Checkpoint,
  Finding,
  FindingClass,
  Fix,
  Level,
  ScheduleConstraint,
  SharedAccess,
  SharedState,
  SourceSpan,
  TraceStep,
} from './finding.ts'

// frontend/targets/: the targets of an analysis.
export { selectTargets, type Selection, type SelectOptions } from './frontend/targets/select.ts'

// watch/: again and again, whenever the code changes.
export { watchAnalysis, type WatchOptions } from './watch/watch-analysis.ts'
export type { ChangeBatch } from './watch/changes.ts'
export { AnalysisCache } from './typed/analysis-cache.ts'

// config/: the settings of a project.
export {
  configName,
  failOnChoices,
  type Config,
  type FailOn,
  type RuleSetting,
} from './config/analyze-config.ts'
export { loadConfig, type LoadedConfig } from './config/load.ts'

// baseline/: findings that were there before.
export {
  baselineName,
  formatBaseline,
  parseBaseline,
  type Baseline,
  type BaselineEntry,
} from './baseline/baseline.ts'

// report/: findings, for people and for programs.
export { isAtLeast, makeReport, type MadeReport, type ReportOptions } from './report/make-report.ts'
export { isIncomplete, type Report, type ReportedFinding } from './report/report.ts'
export { compactReport } from './report/compact.ts'
export { githubReport } from './report/github.ts'
export { jsonReport, type JsonReport } from './report/json-report.ts'
export { findingSection, markdownReport } from './report/markdown-report.ts'
export { sarifReport, type SarifOptions } from './report/sarif.ts'
export { SourceLines, type ReadText } from './report/source-lines.ts'
export { summaryLines, textReport } from './report/text/text-report.ts'
export type { Line, Measure, Span, TextOptions } from './report/text/line.ts'
export { count } from './report/class-words.ts'

// explain/: the pages of the rules.
export { rulePage, rulePages, type RulePage } from './explain/pages.ts'
export { suggestRule } from './explain/suggest.ts'
export { pageLines, pageList } from './explain/page-text.ts'

// inventory/: where each part of a program runs.
export type { Inventory } from './inventory/inventory.ts'
export { makeInventory } from './inventory/make-inventory.ts'
export { inventoryMarkdown } from './inventory/inventory-markdown.ts'
export { loadCatalogue } from './models/load.ts'

// lsp/: where developers work.
export { framed, MessageReader, type MessageEvents } from './lsp/lsp-messages.ts'
export {
  LanguageServer,
  type LanguageServerOptions,
  type ServerResult,
} from './lsp/language-server.ts'
