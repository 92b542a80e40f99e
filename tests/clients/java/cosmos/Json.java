package cosmos;

import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/** Items and keys of items, from plain values. */
final class Json {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    private Json() {}

    /** The JSON of a text with ' in place of ". */
    static JsonNode parse(String text) {
        try {
            return MAPPER.readTree(text.replace('\'', '"'));
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException(text, error);
        }
    }

    static ObjectNode item(String text) {
        return (ObjectNode) parse(text);
    }

    static ObjectNode item(Map<String, ?> members) {
        return MAPPER.valueToTree(members);
    }

    /** The item with the id and the key `pk`, and more members as they are in `rest`. */
    static ObjectNode item(String id, Object pk, String rest) {
        ObjectNode item = item(rest);
        item.put("id", id);
        item.set("pk", MAPPER.valueToTree(pk));
        return item;
    }

    static ObjectNode item(String id, Object pk) {
        return item(id, pk, "{}");
    }

    /** A text, a number, a boolean, null, or a list of them for hierarchical keys. */
    static PartitionKey key(Object value) {
        if (value instanceof PartitionKey key) {
            return key;
        }
        if (!(value instanceof List<?> parts)) {
            return new PartitionKey(value);
        }
        PartitionKeyBuilder builder = new PartitionKeyBuilder();
        for (Object part : parts) {
            if (part instanceof Boolean flag) {
                builder.add(flag);
            } else if (part instanceof Number number) {
                builder.add(number.doubleValue());
            } else {
                builder.add((String) part);
            }
        }
        return builder.build();
    }

    static List<String> ids(Collection<? extends JsonNode> items) {
        return items.stream().map(item -> item.get("id").asText()).sorted().toList();
    }

    /** The item without the members that the server adds. */
    static ObjectNode stored(ObjectNode item) {
        ObjectNode copy = item.deepCopy();
        copy.remove(List.of("_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"));
        return copy;
    }
}
