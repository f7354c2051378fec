# Means over topics of the judges in a lab's facts.json, for docs/results/truth-judges.csv:
#
#   jq -r --arg lab NAME -f truth.jq NAME/facts.json
#
# Columns: lab, web ("all" = both), judge, bad examples of eight, topics, precision,
# recall, AUROC, ECE. What is not defined on a topic is left out of the mean.
def mean: map(select(. != null)) | if length == 0 then "" else 10000 * add / length | round / 10000 end;
[.judges[] | ., (.web = "all")]
| group_by([.web, .judge, .bad // 0])[]
| [$lab, .[0].web, .[0].judge, .[0].bad // 0, length,
   (map(.precision) | mean), (map(.recall) | mean), (map(.auroc) | mean), (map(.ece) | mean)]
| map(tostring) | join(",")
