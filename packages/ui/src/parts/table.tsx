/** What tables stand in. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Holds a table that may be wider than the screen: it scrolls sideways, and then takes the focus, so that keys scroll it. */
export function TableWrap({
  isCard = false,
  children,
}: {
  readonly isCard?: boolean
  readonly children: ComponentChildren
}): JSX.Element {
  const area = useRef<HTMLDivElement>(null)
  const isWide = useSignal(false)
  useEffect(() => {
    const element = area.current!
    const measure = (): void => {
      isWide.value = element.scrollWidth > element.clientWidth
    }
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    for (const child of element.children) observer.observe(child)
    return () => observer.disconnect()
  }, [children])
  return (
    <div
      class={isCard ? 'card table-wrap' : 'table-wrap'}
      ref={area}
      tabIndex={isWide.value ? 0 : undefined}
    >
      {children}
    </div>
  )
}

/** A table with a heading and something at its right. */
export function TableCard({
  title,
  side,
  children,
}: {
  readonly title: ComponentChildren
  readonly side?: ComponentChildren
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <section class="card">
      <header>
        <h2 class="grow">{title}</h2>
        {side}
      </header>
      <TableWrap>{children}</TableWrap>
    </section>
  )
}
