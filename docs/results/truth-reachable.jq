# How much there is to be found for each topic, for truth-reachable.csv:
#
#   jq -rn -f truth-reachable.jq truth-rules/facts.json truth-old-examples/facts.json truth-read/facts.json
#
# Documents that can be reached from the seeds, that count and that no crawl is shown:
# by the rules, and estimated by reading, with the old and with the chosen examples; low
# and high are the 95 % interval of the last.
def places: if . >= 100 then round else 10 * . | round / 10 end;
[inputs.topics | map({key: (.web + "/" + .topic), value: .}) | from_entries]
| . as [$rules, $old, $read]
| $read | keys[] as $t
| [$t, $rules[$t].reachable, $old[$t].reachable, .[$t].reachable, .[$t].read.low, .[$t].read.high]
| map(if type == "number" then places else . end | tostring) | join(",")
