/** Findings as editors show them: the place, the sentence, and the interleaving as related information. */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Finding, Fix, Level, SourceSpan } from '../finding.ts'

export interface Position {
  readonly line: number
  readonly character: number
}

export interface Range {
  readonly start: Position
  readonly end: Position
}

export interface EditorDiagnostic {
  readonly range: Range
  readonly severity: number
  readonly code: string
  readonly source: 'heddle'
  readonly message: string
  readonly relatedInformation: readonly {
    readonly location: { readonly uri: string; readonly range: Range }
    readonly message: string
  }[]
  /** The editor sends this back with a request for code actions. */
  readonly data: { readonly fingerprint: string }
}

const severities: Record<Level, number> = { error: 1, warning: 2, note: 3 }

/** Editors count from 0. */
export function rangeOf({ line, column, endLine, endColumn }: SourceSpan): Range {
  return {
    start: { line: line - 1, character: column - 1 },
    end: { line: endLine - 1, character: endColumn - 1 },
  }
}

/** @param root Of the analysis. Absolute. */
export function uriOf(root: string, file: string): string {
  return pathToFileURL(path.join(root, file)).href
}

export function toDiagnostic(finding: Finding, root: string): EditorDiagnostic {
  const { rule, level, message, trace, fingerprint } = finding
  return {
    range: rangeOf(placeOf(finding)),
    severity: severities[level],
    code: rule,
    source: 'heddle',
    message,
    relatedInformation: trace.map(({ task, text, span }, index) => ({
      location: { uri: uriOf(root, span.file), range: rangeOf(span) },
      message: `${index + 1}. ${task}: ${text}`,
    })),
    data: { fingerprint },
  }
}

/** The check or the act, whichever the finding is shown at. */
function placeOf({ line, checkSpan, actSpan }: Finding): SourceSpan {
  return actSpan.line === line && checkSpan.line !== line ? actSpan : checkSpan
}

export interface CodeAction {
  readonly title: string
  readonly kind: 'quickfix'
  readonly diagnostics: readonly EditorDiagnostic[]
  readonly edit: {
    readonly changes: Readonly<Record<string, readonly { range: Range; newText: string }[]>>
  }
}

/**
 * What can be done about a finding: each repair as a comment with its sketch, because it uses names that
 * only the author can choose, and a comment that accepts the finding.
 *
 * @param textOf A line of the file of the finding, from 1.
 */
export function actionsFor(
  finding: Finding,
  root: string,
  textOf: (line: number) => string,
): CodeAction[] {
  const uri = uriOf(root, finding.file)
  const diagnostics = [toDiagnostic(finding, root)]
  const above = (line: number, lines: readonly string[]): CodeAction['edit'] => {
    const indent = /^\s*/.exec(textOf(line))?.[0] ?? ''
    const at = { line: line - 1, character: 0 }
    const newText = lines.map((each) => `${indent}// ${each}`.trimEnd() + '\n').join('')
    return { changes: { [uri]: [{ range: { start: at, end: at }, newText }] } }
  }
  const repair = (fix: Fix): CodeAction => ({
    title: `${fix.title} (sketch as a comment)`,
    kind: 'quickfix',
    diagnostics,
    edit: above(finding.line, [`${finding.rule}: ${fix.title}`, ...fix.sketch.split('\n')]),
  })
  return [
    ...finding.fixes.map(repair),
    {
      title: `Accept ${finding.rule} here, with a reason`,
      kind: 'quickfix',
      diagnostics,
      edit: above(finding.line, [
        `heddle-ignore ${finding.rule} -- say here why it cannot go wrong`,
      ]),
    },
  ]
}
