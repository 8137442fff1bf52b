/** Holds a table that may be wider than the screen: it scrolls sideways, and then takes the focus, so that keys scroll it. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

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
