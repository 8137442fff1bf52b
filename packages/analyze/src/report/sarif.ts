/**
 * SARIF 2.1.0, as code scanning services read it.
 *
 * The interleaving is a code flow with one thread flow for each task; `executionOrder` says which step
 * comes when. Suppressed findings stay in the log with their justification, as the format wants it.
 */
import type { Finding, SourceSpan, TraceStep } from '../finding.ts'
import { pageSection } from '../explain/rules-markdown.ts'
import { rulePage } from '../explain/pages.ts'
import type { Report } from './report.ts'
import type { SourceLines } from './source-lines.ts'
import { classWords, stepsOf } from './class-words.ts'

export interface SarifOptions {
  readonly version: string
  /** URL of the root of the analysis; it ends with a slash. */
  readonly rootUrl: string
}

/** Partial fingerprints have a version in their name: a later way to count them gets another one. */
const fingerprintName = 'heddleFingerprint/v1'

export function sarifReport(report: Report, options: SarifOptions): object {
  const used = new Set(
    [...report.findings, ...report.suppressed].map(({ finding }) => finding.rule),
  )
  const rules = [...used].toSorted()
  const results = [
    ...report.findings.map(({ finding, state }) => ({
      ...result(finding, rules, report.source),
      ...(report.hasBaseline && { baselineState: state === 'new' ? 'new' : 'unchanged' }),
    })),
    ...report.suppressed.map(({ finding, reason }) => ({
      ...result(finding, rules, report.source),
      suppressions: [{ kind: 'inSource', status: 'accepted', justification: reason }],
    })),
  ]
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'heddle analyze',
            semanticVersion: options.version,
            rules: rules.map(ruleDescriptor),
          },
        },
        columnKind: 'utf16CodeUnits',
        originalUriBaseIds: { ROOT: { uri: options.rootUrl } },
        invocations: [invocation(report)],
        results,
      },
    ],
  }
}

function ruleDescriptor(id: string): object {
  const page = rulePage(id)
  if (page === undefined) return { id }
  return {
    id,
    // The format wants one word.
    name: page.name.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase()),
    shortDescription: { text: page.summary },
    fullDescription: { text: flat(page.what) },
    help: { text: flat(page.why), markdown: pageSection(page).join('\n') },
    defaultConfiguration: { level: page.level },
    properties: { tags: ['concurrency', page.class] },
  }
}

function flat(text: string): string {
  return text.replaceAll('\n', ' ')
}

function invocation({ diagnostics }: Report): object {
  return {
    executionSuccessful: !diagnostics.some((diagnostic) => diagnostic.isIncomplete),
    toolExecutionNotifications: diagnostics.map(({ kind, file, line, message, isIncomplete }) => ({
      level: isIncomplete ? 'error' : 'note',
      descriptor: { id: kind },
      message: { text: message },
      ...(file !== undefined && {
        locations: [
          {
            physicalLocation: {
              artifactLocation: artifact(file),
              ...(line !== undefined && { region: { startLine: line } }),
            },
          },
        ],
      }),
    })),
  }
}

function artifact(file: string): object {
  return { uri: file.split('/').map(encodeURIComponent).join('/'), uriBaseId: 'ROOT' }
}

function physicalLocation(span: SourceSpan, snippet?: string): object {
  const { file, line, column, endLine, endColumn } = span
  return {
    artifactLocation: artifact(file),
    region: {
      startLine: line,
      startColumn: column,
      endLine,
      endColumn,
      ...(snippet !== undefined && { snippet: { text: snippet.slice(0, longestSnippet) } }),
    },
  }
}

function location(span: SourceSpan, message?: string): object {
  return {
    physicalLocation: physicalLocation(span),
    ...(message !== undefined && { message: { text: message } }),
  }
}

/** Code that is quoted in the log, for readers without the files. */
const longestSnippet = 500

function result(finding: Finding, rules: readonly string[], source: SourceLines): object {
  const { rule, level, message, checkSpan, actSpan, function: name, window } = finding
  // The place an editor shows it at is the check or the act, whichever is in the named function.
  const main = actSpan.file === finding.file && actSpan.line === finding.line ? actSpan : checkSpan
  return {
    ruleId: rule,
    ruleIndex: rules.indexOf(rule),
    level,
    message: { text: resultText(finding) },
    locations: [
      {
        physicalLocation: physicalLocation(main, source.of(main.file)?.slice(main)),
        ...(name !== '' && { logicalLocations: [{ fullyQualifiedName: name, kind: 'function' }] }),
      },
    ],
    relatedLocations: related(finding).map((each, id) => ({ id, ...each })),
    partialFingerprints: { [fingerprintName]: finding.fingerprint },
    ...(finding.trace.length > 0 && { codeFlows: [codeFlow(finding, message)] }),
    properties: {
      class: finding.class,
      function: name,
      ...(window !== undefined && { window }),
      fixes: finding.fixes,
    },
  }
}

function resultText({ message, window, fixes, class: kind }: Finding): string {
  const lines = [`${message}.`.replace(/([.!?])\.$/, '$1'), `${classWords[kind].title}.`]
  if (window !== undefined) lines.push(`Window: ${stepsOf(window)}.`)
  for (const fix of fixes) lines.push(`Fix: ${fix.title} [${fix.effort}].`)
  return lines.join('\n')
}

function related(finding: Finding): object[] {
  const { checkSpan, actSpan, suspension, conflict } = finding
  return [
    location(checkSpan, 'check'),
    ...(suspension === undefined ? [] : [location(suspension, 'suspension')]),
    location(actSpan, 'act'),
    ...(conflict === undefined ? [] : [location(conflict, 'what the other task does')]),
  ]
}

function codeFlow({ trace }: Finding, message: string): object {
  const steps = trace.map((step, i) => ({ step, order: i + 1 }))
  const tasks = Map.groupBy(steps, ({ step }) => step.task)
  return {
    message: { text: message },
    threadFlows: [...tasks].map(([task, own]) => ({
      id: `Task ${task}`,
      message: { text: `Task ${task}` },
      locations: own.map(({ step, order }) => threadLocation(step, order)),
    })),
  }
}

function threadLocation(step: TraceStep, order: number): object {
  const text = `${order}. ${step.text}${step.isCheckpoint === true ? ' (checkpoint)' : ''}`
  return { executionOrder: order, location: location(step.span, text) }
}
